#!/usr/bin/env python3
"""The keys of `sagabox demo`: on a real terminal, which gets its settings back however the demo
ends, and from a pipe with --keys.

usage: demo_keys_test.py SAGABOX [unittest arguments]
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

SAGABOX = sys.argv.pop(1)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some signals here would leave a core
PATIENCE = 60  # seconds; only a failure takes so long
LETTER = re.compile(r"…[0-9A-Z]{6}  orders\.order\.placed\.v1 +4 +\w+  TX\.HANDLER_FAILED  \w")
DRAWN_OVER = re.compile(r"\x1b\[\d+A\r")


class Screen:
    """A demo on a terminal of its own."""

    def __init__(self, *arguments, rows=40, **options):
        self.ours, self.theirs = pty.openpty()
        window = struct.pack("HHHH", rows, 120, 0, 0)
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, window)
        self.before = termios.tcgetattr(self.theirs)
        self.written = ""
        self.demo = subprocess.Popen(
            [*options.pop("prefix", []), SAGABOX, "demo", *arguments],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
            **options,
        )

    def close(self):
        if self.demo.poll() is None:
            self.demo.kill()
        self.demo.wait()
        os.close(self.ours)
        os.close(self.theirs)

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def read(self, seconds):
        """What comes within a moment is added to what is written."""
        if select.select([self.ours], [], [], seconds)[0]:
            self.written += os.read(self.ours, 65536).decode(errors="replace")

    def block(self):
        """The last one that is complete."""
        blocks = DRAWN_OVER.split(self.written)
        return next((b for b in reversed(blocks) if "\x1b[J" in b), "").replace("\x1b[K", "")

    def wait(self, what, found):
        """Reads until `found(self)`; `what` names it when it does not come."""
        limit = time.monotonic() + PATIENCE
        while not found(self):
            if time.monotonic() > limit:
                raise AssertionError(f"{what} did not come: {self.written[-4000:]}")
            self.read(0.1)

    def wait_for(self, pattern):
        self.wait(pattern, lambda screen: re.search(pattern, screen.block()))

    def wait_without(self, pattern):
        self.wait("no " + pattern, lambda screen: not re.search(pattern, screen.block()))

    def takes_single_keys(self):
        flags = termios.tcgetattr(self.theirs)[3]
        return flags & (termios.ICANON | termios.ECHO) == 0

    def end(self):
        """The exit code; everything written has been read."""
        self.wait("the end", lambda screen: screen.demo.poll() is not None)
        while select.select([self.ours], [], [], 0)[0]:
            self.read(0)
        return self.demo.returncode


@contextlib.contextmanager
def on_a_terminal(*arguments, **options):
    screen = Screen(*arguments, **options)
    try:
        yield screen
    finally:
        screen.close()


def count(screen, name):
    found = re.search(rf"^ *{name} +(\d[\d ]*?)(?:   .*)?\r?$", screen, re.MULTILINE)
    return int(found.group(1).replace(" ", ""))


class KeysOnATerminal(unittest.TestCase):
    def test_every_key_does_what_the_line_says(self):
        with on_a_terminal("--fail", "50") as screen:
            screen.wait_for("d dead letters  r replay them  p pause  q quit")
            self.assertTrue(screen.takes_single_keys())
            screen.wait("more dead letters than are shown", lambda s: count(s.block(), "dead") > 10)

            screen.press("d")
            screen.wait_for(r"ID +TOPIC +TRIES +AGE +CODE +ERROR")
            screen.wait_for(r"and \d+ more")
            self.assertEqual(len(LETTER.findall(screen.block())), 10)
            screen.press("d")
            screen.wait_without("TRIES")

            screen.press("r")
            screen.wait_for(r"replay job 1  [█░]{20}  \d+/\d+")
            screen.wait_for(r"replay job 1  █{20}  (\d+)/\1  \d+/s  finished")

            screen.press("p")
            screen.wait_for("PAUSED")
            screen.wait_for("p resume")
            screen.wait_for(r"delivered +\d[\d ]* +0/s")
            screen.press("p")
            screen.wait_without("PAUSED")
            screen.wait_for(r"delivered +\d[\d ]* +[1-9]\d*/s")

            screen.press("q")
            self.assertEqual(screen.end(), 0, screen.written[-2000:])
            self.assertIn("draining", screen.written)
            self.assertIn("it adds up", screen.written)
            self.assertRegex(screen.written, r"replayed +\d+   each counted once")
            self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)

    def test_other_keys_do_nothing_and_are_not_echoed(self):
        with on_a_terminal("--fail", "0") as screen:
            screen.wait_for("q quit")
            screen.press("xyzZQ7\x1b[D\x1b[d")
            screen.press("r")
            screen.wait_for("nothing is dead, so there is nothing to replay")
            self.assertNotIn("xyz", screen.written)
            self.assertNotIn("TRIES", screen.written)
            screen.press("d")
            screen.wait_for("no dead letters")
            screen.press("q")
            self.assertEqual(screen.end(), 0)

    def test_the_block_fits_a_small_window(self):
        for rows in (24, 16, 8):
            with self.subTest(rows=rows), on_a_terminal("--fail", "50", rows=rows) as screen:
                screen.wait("dead letters", lambda s: count(s.block() or "dead 0", "dead") > 10)
                screen.press("d")
                drawn = len(screen.written)
                screen.wait("some more blocks", lambda s: s.written.count("\x1b[J", drawn) >= 4)
                heights = {int(up) for up in re.findall(r"\x1b\[(\d+)A", screen.written[drawn:])}
                self.assertLess(max(heights), rows)
                if rows > 12:
                    self.assertRegex(screen.block(), LETTER)
                screen.press("qq")
                self.assertEqual(screen.end(), -signal.SIGINT)

    def test_the_terminal_is_as_before_however_it_ends(self):
        for number, code in [
            (signal.SIGINT, 0),
            (signal.SIGTERM, 0),
            (signal.SIGHUP, -signal.SIGHUP),
            (signal.SIGQUIT, -signal.SIGQUIT),
            (signal.SIGABRT, -signal.SIGABRT),
        ]:
            with self.subTest(signal=number), on_a_terminal() as screen:
                screen.wait_for("q quit")
                self.assertTrue(screen.takes_single_keys())
                screen.demo.send_signal(number)
                self.assertEqual(screen.end(), code, screen.written[-2000:])
                self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)

    def test_quitting_twice_restores_the_terminal_too(self):
        # Everything fails, so that draining has something to wait for.
        with on_a_terminal("--fail", "100") as screen:
            screen.wait("pending messages", lambda s: count(s.block() or "dead 0", "dead") > 0)
            screen.press("qq")
            self.assertEqual(screen.end(), -signal.SIGINT)
            self.assertNotIn("counted from the store", screen.written)
            self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)

    def test_ctrl_c_is_typed_and_drains(self):
        # The shell stays, so that the terminal outlives the demo, and says what became of it.
        script = 'trap : INT; stty -g; "$@"; echo "code $?"; stty -g'
        with on_a_terminal(
            prefix=["sh", "-c", script, "sh"],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        ) as screen:
            screen.wait_for("q quit")
            screen.press("\x03")
            self.assertEqual(screen.end(), 0)
            self.assertIn("it adds up", screen.written)
            self.assertIn("code 0", screen.written)
            settings = re.findall(r"^[0-9a-f:]{40,}\r?$", screen.written, re.MULTILINE)
            self.assertEqual(len(settings), 2, screen.written)
            self.assertEqual(settings[0], settings[1])

    def test_a_suspended_demo_lends_the_terminal_back(self):
        with on_a_terminal(process_group=0) as screen:
            screen.wait_for("q quit")
            screen.demo.send_signal(signal.SIGTSTP)
            _, status = os.waitpid(screen.demo.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
            screen.demo.send_signal(signal.SIGCONT)
            screen.wait("single keys again", Screen.takes_single_keys)
            screen.press("q")
            self.assertEqual(screen.end(), 0)
            self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)


class KeysFromAPipe(unittest.TestCase):
    @contextlib.contextmanager
    def demo(self, *arguments):
        """The summary goes to stdout, lines to stderr. Ends also when nobody stops it."""
        limit = [] if "--for" in arguments else ["--for", f"{PATIENCE}s"]
        with subprocess.Popen(
            [SAGABOX, "demo", "--json-summary", *limit, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as demo:
            try:
                yield demo
            finally:
                demo.kill()

    def press(self, demo, keys):
        demo.stdin.write(keys)
        demo.stdin.flush()

    def read_until(self, demo, pattern):
        seen = []
        for line in demo.stderr:
            seen.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no {pattern} in: " + "".join(seen))

    def summary(self, demo):
        out, lines = demo.communicate(timeout=PATIENCE)
        self.assertEqual(demo.returncode, 0, lines)
        summary = json.loads(out)
        self.assertTrue(summary["adds_up"], summary)
        self.assertEqual(
            summary["committed"],
            sum(summary[state] for state in ("delivered", "pending", "dead", "quarantined")),
        )
        self.assertEqual(summary["delivered_without_order"], 0)
        return summary, lines

    def test_a_replayed_message_counts_once(self):
        # Nearly all that die have a wrong address, and a replay finds it put right.
        with self.demo("--keys", "--fail", "10", "--rate", "2000") as demo:
            self.read_until(demo, r"d dead letters  r replay them  p pause  q quit")
            self.read_until(demo, r"  dead [1-9]\d+  ")
            self.press(demo, "dr")
            self.read_until(demo, LETTER)
            done = self.read_until(demo, r"replay job 1  █{20}  (\d+)/\1.*  finished")
            self.press(demo, "q")
            summary, _ = self.summary(demo)
            self.assertEqual(summary["replayed"], int(done.group(1)))
            self.assertGreaterEqual(summary["replayed"], 10)

    def test_replayed_messages_that_die_again_are_dead_once(self):
        with self.demo("--keys", "--fail", "100", "--rate", "100") as demo:
            self.read_until(demo, r"  dead [1-9]\d*  ")
            self.press(demo, "r")
            self.read_until(demo, r"replay job 1  .*  finished")
            self.press(demo, "q")
            summary, _ = self.summary(demo)
            self.assertEqual(summary["delivered"], 0)
            self.assertGreater(summary["replayed"], 0)

    def test_paused_it_ends_without_a_drain_and_says_why_some_are_pending(self):
        with self.demo("--keys") as demo:
            self.read_until(demo, r"out [1-9]\d*/s")
            self.press(demo, "p")
            self.read_until(demo, "paused: orders go on")
            self.read_until(demo, r"out 0/s .* PAUSED$")
            asked = time.monotonic()
            demo.send_signal(signal.SIGINT)
            summary, lines = self.summary(demo)
            self.assertLess(time.monotonic() - asked, 4, "the drain takes up to five seconds")
            self.assertTrue(summary["paused"])
            self.assertGreater(summary["pending"], 0)
            self.assertIn("the table is paused: what is pending stays pending", lines)
            self.assertRegex(lines, r"pending +\d[\d ]*   because the table is paused")
            self.assertNotIn("draining", lines)

    def test_pausing_twice_resumes(self):
        with self.demo("--keys", "--fail", "0") as demo:
            self.press(demo, "p")
            self.read_until(demo, "PAUSED$")
            self.press(demo, "p")
            self.read_until(demo, "resumed")
            self.read_until(demo, r"out [1-9]\d*/s")
            self.press(demo, "q")
            summary, _ = self.summary(demo)
            self.assertFalse(summary["paused"])
            self.assertEqual(summary["delivered"], summary["committed"])

    def test_the_end_of_the_keys_is_not_the_end_of_the_demo(self):
        with self.demo("--keys", "--for", "1500ms", "--fail", "0") as demo:
            self.press(demo, "r")
            demo.stdin.close()
            demo.stdin = None
            summary, lines = self.summary(demo)
            self.assertGreaterEqual(summary["seconds"], 1.5)
            self.assertIn("nothing is dead, so there is nothing to replay", lines)

    def test_without_the_option_a_pipe_is_not_read(self):
        with self.demo("--for", "1500ms") as demo:
            self.press(demo, "pdrq")
            summary, lines = self.summary(demo)
            self.assertFalse(summary["paused"])
            self.assertGreaterEqual(summary["seconds"], 1.5)
            self.assertNotIn("dead letters", lines)


if __name__ == "__main__":
    unittest.main()
