#!/usr/bin/env python3
"""`sagabox demo` from outside: it delivers, it drains when told to stop, and its sum is right.

usage: demo_test.py SAGABOX [unittest arguments]
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SAGABOX = sys.argv.pop(1)
FIELDS = {
    "store",
    "seconds",
    "committed",
    "delivered",
    "pending",
    "retrying",
    "dead",
    "quarantined",
    "replayed",
    "paused",
    "rolled_back",
    "failed_attempts",
    "delivered_without_order",
    "adds_up",
}
LIVE_LINE = re.compile(r"^ *\d+ s  in \d+/s  out \d+/s  pending \d+ .* shards (\d+)$")


def run(*arguments):
    return subprocess.run(
        [SAGABOX, "demo", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def start(*arguments, **streams):
    return subprocess.Popen([SAGABOX, "demo", *arguments], text=True, **streams)


def await_deliveries(stream):
    """Reads until a live line tells of delivered messages; gives what it read."""
    seen = []
    for line in stream:
        seen.append(line)
        if LIVE_LINE.match(line) and "out 0/s" not in line:
            return seen
    raise AssertionError("no live line with deliveries in: " + "".join(seen))


class Demo(unittest.TestCase):
    def check_sum(self, summary):
        self.assertEqual(set(summary), FIELDS)
        self.assertTrue(summary["adds_up"], summary)
        self.assertEqual(
            summary["committed"],
            sum(summary[state] for state in ("delivered", "pending", "dead", "quarantined")),
        )
        self.assertEqual(summary["delivered_without_order"], 0)
        self.assertGreater(summary["committed"], 0)

    def test_adds_up_and_ends_by_itself(self):
        result = run("--for", "3s", "--rate", "2000", "--fail", "20", "--json-summary")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1, "only the object is on stdout")
        summary = json.loads(result.stdout)
        self.check_sum(summary)
        self.assertGreater(summary["delivered"], 0)
        self.assertGreater(summary["rolled_back"], 0)
        self.assertGreater(summary["failed_attempts"], 0)
        self.assertGreater(summary["dead"], 0)
        self.assertGreaterEqual(summary["seconds"], 3)
        self.assertIn("it adds up", result.stderr)

    def test_fails_never_or_always_as_told(self):
        summary = json.loads(run("--for", "500ms", "--fail", "0", "--json-summary").stdout)
        self.check_sum(summary)
        self.assertEqual((summary["dead"], summary["failed_attempts"]), (0, 0))
        self.assertEqual(summary["delivered"], summary["committed"])
        summary = json.loads(run("--for", "500ms", "--fail", "100", "--json-summary").stdout)
        self.check_sum(summary)
        self.assertEqual(summary["delivered"], 0)
        self.assertGreater(summary["dead"], 0)

    def test_sigint_and_sigterm_drain(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number), start(
                "--rate",
                "1000",
                "--json-summary",
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as demo:
                await_deliveries(demo.stderr)
                demo.send_signal(number)
                stdout, stderr = demo.communicate(timeout=60)
                self.assertEqual(demo.returncode, 0, stderr)
                self.assertIn("draining", stderr)
                self.check_sum(json.loads(stdout))

    def test_second_signal_quits_at_once(self):
        # Everything fails, so that draining has something to wait for.
        with start("--fail", "100", stdout=subprocess.PIPE) as demo:
            for line in demo.stdout:
                if LIVE_LINE.match(line):
                    break
            demo.send_signal(signal.SIGINT)
            for line in demo.stdout:
                if "draining" in line:
                    break
            demo.send_signal(signal.SIGINT)
            rest = demo.stdout.read()
            self.assertEqual(demo.wait(timeout=60), -signal.SIGINT)
            self.assertNotIn("counted from the store", rest)

    def test_first_screen_says_what_happens_and_what_to_press(self):
        lines = run("--for", "1200ms").stdout.splitlines()
        self.assertRegex(lines[0], r"^sagabox \d+\.\d+\.\d+ · demo · store memory:")
        self.assertIn("in one transaction", lines[1])
        self.assertIn("Ctrl-C", lines[3])
        live = [match for match in map(LIVE_LINE.match, lines) if match]
        self.assertTrue(live, lines)
        self.assertEqual(live[-1].group(1), "16")


class DemoOnATerminal(unittest.TestCase):
    def screen(self, **environment):
        """What the demo writes to a terminal."""
        ours, theirs = pty.openpty()
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        demo = subprocess.Popen(
            [SAGABOX, "demo", "--for", "1500ms", "--fail", "30"],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env={**env, "TERM": "xterm", **environment},
        )
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 4096):
                written += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(demo.wait(timeout=60), 0)
        return written.decode()

    def test_draws_in_place_about_four_times_a_second(self):
        screen = self.screen()
        self.assertGreaterEqual(screen.count("\x1b[7A"), 3)
        for name in ("committed", "delivered", "pending", "retrying", "queued", "dead", "shards"):
            self.assertIn(name, screen)
        self.assertNotRegex(screen, LIVE_LINE)
        self.assertNotIn("dead letters", screen, "nobody can press keys")
        self.assertIn("\x1b[32m", screen)

    def test_respects_no_color(self):
        screen = self.screen(NO_COLOR="1")
        self.assertIn("it adds up", screen)
        self.assertNotRegex(screen, r"\x1b\[\d*m")

    def test_a_dumb_terminal_gets_lines(self):
        self.assertNotIn("\x1b", self.screen(TERM="dumb"))


class DemoOnAFile(unittest.TestCase):
    check_sum = Demo.check_sum

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = "sqlite:" + folder.name + "/demo.db"

    def test_goes_on_after_it_was_killed(self):
        committed = 0
        for _ in range(3):
            with start(
                "--store",
                self.store,
                "--json-summary",
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as demo:
                await_deliveries(demo.stderr)
                demo.kill()
            result = run("--store", self.store, "--for", "500ms", "--fail", "0", "--json-summary")
            self.assertEqual(result.returncode, 0, result.stderr)
            summary = json.loads(result.stdout)
            self.check_sum(summary)
            self.assertGreater(summary["committed"], committed)
            committed = summary["committed"]

    def test_one_shard_is_no_shards(self):
        first = run("--store", self.store, "--workers", "1", "--for", "100ms").stdout.splitlines()[0]
        self.assertTrue(first.endswith(" · 1 worker · 1 table, 1 shard"), first)

    def test_file_that_cannot_be_opened_is_told(self):
        result = run("--store", "sqlite:/nowhere/demo.db", "--for", "1s")
        self.assertEqual(result.returncode, 2)
        self.assertIn("No such file or directory", result.stderr)


if __name__ == "__main__":
    unittest.main()
