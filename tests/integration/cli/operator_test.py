#!/usr/bin/env python3
"""The operator's verbs of the real binary, on a SQLite file with prepared states.

usage: operator_test.py SAGABOX [unittest arguments]
"""

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

SAGABOX = str(Path(sys.argv.pop(1)).resolve())
PATIENCE = 60  # seconds; only a failure takes so long
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("SAGABOX_")
}
CARRIED = (
    "id, attempts, replays, written_at, tenant, topic, aggregate_type, aggregate_id, key,"
    " priority, is_json, digest, content_type, headers, occurred_at, payload"
)


def start(*arguments, **options):
    return subprocess.Popen(
        [SAGABOX, *arguments],
        **{
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": ENVIRONMENT,
            **options,
        },
    )


class OnAFile(unittest.TestCase):
    """A folder with orders.db, and the outbox orders in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "orders.db"
        self.run_fine("migrate", "up", "--table", "orders")

    def sagabox(self, *arguments, **options):
        verb = arguments[: 2 if len(arguments) > 1 and arguments[0] in GROUPS else 1]
        rest = arguments[len(verb) :]
        return subprocess.run(
            [SAGABOX, *verb, "--store", f"sqlite:{self.file}", *rest],
            **{
                "capture_output": True,
                "text": True,
                "stdin": subprocess.DEVNULL,
                "timeout": PATIENCE,
                "check": False,
                "env": ENVIRONMENT,
                **options,
            },
        )

    def run_fine(self, *arguments, code=0, **options):
        result = self.sagabox(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def run_json(self, *arguments, code=0):
        return json.loads(self.run_fine(*arguments, "--json", code=code))

    def complaint(self, *arguments, code):
        result = self.sagabox(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def sql(self, text, *values):
        connection = sqlite3.connect(self.file, timeout=PATIENCE)
        try:
            with connection:
                return connection.execute(text, values).fetchall()
        finally:
            connection.close()

    def write(self, name, key=None, topic="orders.order.placed.v1", seconds_ago=0):
        arguments = ["--id", name, "--topic", topic, "--payload", '{"order": 17}']
        if key:
            arguments += ["--key", key]
        self.run_fine("outbox", "enqueue", "--table", "orders", *arguments)
        self.sql(
            "UPDATE orders_pending SET written_at = written_at - ? WHERE id = ?",
            seconds_ago * 1_000_000,
            name,
        )

    def fail(self, name, attempts=3, due_in=3600):
        """Waits for a retry, as a relay leaves it."""
        due = int((time.time() + due_in) * 1e6)
        self.sql(
            "UPDATE orders_pending SET place = seq, due = ?, retrying = 1, attempts = ?,"
            " code = 'PROVIDER.UNAVAILABLE', error = 'connection refused' WHERE id = ?",
            due,
            attempts,
            name,
        )
        self.sql(
            "UPDATE sagabox_outbox SET waiting = waiting + 1,"
            " seq = max(seq, (SELECT seq FROM orders_pending WHERE id = ?))",
            name,
        )

    def kill(self, name, code="PROVIDER.REJECTED", seconds_ago=60):
        """A dead letter, as a relay leaves it."""
        ended = int((time.time() - seconds_ago) * 1e6)
        self.sql(
            f"INSERT INTO orders_dead (seq, state, ended_at, code, error, {CARRIED})"
            f" SELECT seq, 'dead', ?, ?, '422 from hooks.example.com', {CARRIED}"
            " FROM orders_pending WHERE id = ?",
            ended,
            code,
            name,
        )
        self.sql("UPDATE orders_dead SET attempts = 10 WHERE id = ?", name)
        self.sql(
            "UPDATE sagabox_outbox SET gone = gone + 1, dead = dead + 1,"
            " seq = max(seq, (SELECT seq FROM orders_pending WHERE id = ?))",
            name,
        )
        self.sql("DELETE FROM orders_pending WHERE id = ?", name)

    def kill_many(self, count):
        """Dead letters D0, D1 …"""
        self.write("D0")
        self.kill("D0")
        others = CARRIED.removeprefix("id, ")
        self.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            f" INSERT INTO orders_dead (seq, state, ended_at, code, error, id, {others})"
            f" SELECT seq + i, state, ended_at, code, error, 'D' || i, {others}"
            " FROM orders_dead, n WHERE id = 'D0'",
            count - 1,
        )

    def state(self, name):
        return self.run_json("outbox", "show", name)["state"]

    def on_a_terminal(self, typed, *arguments):
        """Everything written, and the exit code."""
        ours, theirs = pty.openpty()
        process = start(
            *arguments[:2],
            "--store",
            f"sqlite:{self.file}",
            *arguments[2:],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            text=False,
            env={**ENVIRONMENT, "TERM": "xterm"},
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        written = b""
        try:
            while chunk := os.read(ours, 4096):
                written += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        return written.decode(), process.wait(timeout=PATIENCE)


GROUPS = {"outbox", "dead", "migrate", "audit"}


class Looking(OnAFile, unittest.TestCase):
    def test_status_is_a_table_with_warnings(self):
        self.write("W1", key="17", seconds_ago=300)
        self.write("W2", key="17")
        self.write("D1")
        self.fail("W1")
        self.kill("D1")
        self.run_fine("pause", "--topic", "mail.sent.v1", "--note", "printer on fire")
        lines = self.run_fine("status", "--over", "10ms").splitlines()
        self.assertRegex(
            lines[0], r"^TABLE +PENDING +OLDEST +RATE IN/OUT +RETRYING +DEAD +OWNERS$"
        )
        self.assertRegex(lines[1], r"^orders +2 +5m\d\ds +0/s  0/s +1 +1  nobody$")
        text = "\n".join(lines[2:])
        self.assertIn("! orders: nobody delivers it: no relay has a shard; 2 messages wait", text)
        self.assertRegex(text, r"! orders: topic mail\.sent\.v1 paused for .* printer on fire")
        self.assertIn('! orders: key "17": 1 waits for W1, which failed 3 times', text)
        self.assertIn("! orders: 1 dead letter  → sagabox dead list --table orders", text)
        self.assertNotIn("\x1b", "\n".join(lines))

    def test_status_as_json(self):
        self.write("W1", seconds_ago=300)
        status = self.run_json("status", "--over", "10ms")
        self.assertTrue(status["store"].startswith("sqlite:"))
        (table,) = status["tables"]
        self.assertEqual((table["table"], table["pending"], table["dead"]), ("orders", 1, 0))
        self.assertRegex(table["oldest_pending"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual(table["in_per_second"], 0)
        self.assertEqual(table["findings"][0]["severity"], "error")

    def test_status_measures_rates_between_its_looks(self):
        with start("status", "--store", f"sqlite:{self.file}", "--over", "1s", "--json") as status:
            while status.poll() is None:
                self.sql("INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '{}')")
                time.sleep(0.01)
            out, complaints = status.communicate(timeout=PATIENCE)
        self.assertEqual(status.returncode, 0, complaints)
        (table,) = json.loads(out)["tables"]
        self.assertGreater(table["in_per_second"], 0)
        self.assertEqual(table["out_per_second"], 0)

    def test_explain_finds_the_table_by_itself(self):
        self.run_fine("migrate", "up", "--table", "billing")
        self.write("W1", key="17", seconds_ago=248)
        self.write("W2", key="17")
        self.fail("W1", due_in=3600)
        lines = self.run_fine("explain", "W2").splitlines()
        self.assertRegex(lines[0], r"^pending in orders \(seq 2, shard 0\), written .* ago$")
        self.assertEqual(lines[1], "waits for: an owner: nobody owns shard 0")
        self.assertEqual(lines[2], 'then:      1 earlier message of key "17" (seq 1) goes first')
        whys = [reason["why"] for reason in self.run_json("explain", "W2")["reasons"]]
        self.assertEqual(whys, ["no_owner", "behind_key"])
        self.assertIn("no message W9 in any table", self.complaint("explain", "W9", code=1))

    def test_outbox_lists_pages_and_shows(self):
        for number in range(3):
            self.write(f"W{number}")
        first = self.run_json("outbox", "list", "--limit", "2")
        self.assertEqual([row["id"] for row in first["messages"]], ["W0", "W1"])
        rest = self.run_json("outbox", "list", "--after", first["next"])
        self.assertEqual([row["id"] for row in rest["messages"]], ["W2"])
        self.assertIsNone(rest["next"])
        self.assertIn("there are more: --after", self.run_fine("outbox", "list", "--limit", "2"))
        self.assertNotIn('{"order": 17}', self.run_fine("outbox", "show", "W1"))
        self.assertIn('{"order": 17}', self.run_fine("outbox", "show", "W1", "--payload"))
        shown = json.loads(self.run_fine("outbox", "show", "W1", "--payload", "--json"))
        self.assertEqual(shown["payload"], {"order": 17})
        self.assertNotIn("payload", self.run_json("outbox", "show", "W1"))
        self.assertTrue(self.run_fine("outbox", "oldest").startswith("W0 orders.order.placed.v1\n"))

    def test_enqueue_takes_an_id_once(self):
        written = self.run_json(
            "outbox", "enqueue", "--topic", "a.b.c.v1", "--payload", "{}", "--id", "X"
        )
        self.assertEqual((written["id"], written["duplicate"]), ("X", False))
        again = self.run_json(
            "outbox", "enqueue", "--topic", "a.b.c.v1", "--payload", "{}", "--id", "X"
        )
        self.assertTrue(again["duplicate"])
        result = self.sagabox(
            "outbox", "enqueue", "--topic", "a.b.c.v1", "--payload", "-", stdin=None, input='{"a":1}'
        )
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_owners_of_a_running_relay(self):
        self.assertIn("no relay has ever asked", self.run_fine("owners"))
        with start("demo", "--store", f"sqlite:{self.file}", "--fail", "0") as demo:
            try:
                limit = time.monotonic() + PATIENCE
                while time.monotonic() < limit:
                    (table,) = self.run_json("owners")["tables"]
                    if table["shards"] and "owner" in table["shards"][0]:
                        break
                (shard,) = table["shards"]
                self.assertGreater(shard["lease_left_seconds"], 0)
                self.assertEqual(shard["epoch"], 1)
                self.assertRegex(self.run_fine("owners"), r"orders: \S+ 1 shard\n")
            finally:
                demo.terminate()
                demo.communicate(timeout=PATIENCE)

    def test_tail_follows_what_is_written_and_ends(self):
        with start(
            "tail", "--store", f"sqlite:{self.file}", "--every", "50ms", "--json"
        ) as tail:
            watchdog = threading.Timer(PATIENCE, tail.kill)
            watchdog.start()
            self.addCleanup(watchdog.cancel)
            # It has begun to look when it tells of the first.
            limit = time.monotonic() + PATIENCE
            number = 0
            while not select.select([tail.stdout], [], [], 0)[0] and time.monotonic() < limit:
                self.write(f"T{number}")
                number += 1
            event = json.loads(tail.stdout.readline())
            self.assertEqual(event["event"], "written")
            self.kill(event["id"], seconds_ago=0)
            for line in tail.stdout:
                event_after = json.loads(line)
                if event_after["event"] == "dead":
                    break
            self.assertEqual((event_after["event"], event_after["id"]), ("dead", event["id"]))
            tail.send_signal(signal.SIGINT)
            tail.communicate(timeout=PATIENCE)
        self.assertEqual(tail.returncode, 0)

    def test_doctor_finds_a_missing_index_and_says_so_by_its_exit_code(self):
        self.assertIn("nothing is wrong", self.run_fine("doctor"))
        self.sql("DROP INDEX orders_dead_ended")
        findings = self.run_json("doctor", code=1)["findings"]
        self.assertIn("orders_dead_ended", [f for f in findings if f["severity"] == "error"][0]["what"])

    def test_an_older_schema_is_told_and_what_to_do(self):
        self.sql("DELETE FROM sagabox_migration WHERE outbox = ''")
        self.assertIn("sagabox migrate up", self.complaint("status", code=1))
        self.assertIn("3 of 12 steps of the schema", self.run_fine("doctor", code=1))

    def test_doctor_asks_transports(self):
        text = self.run_fine("doctor", "--transport", "redis://user:secret@127.0.0.1:1", code=1)
        self.assertIn("redis://user:***@127.0.0.1:1", text)
        self.assertNotIn("secret", text)
        wrong = self.complaint("doctor", "--transport", "pigeon://loft", code=2)
        self.assertIn("pigeon", wrong)


class Acting(OnAFile, unittest.TestCase):
    def test_replay_of_named_letters_shows_asks_and_is_audited(self):
        self.write("D1")
        self.kill("D1")
        preview = self.run_fine("dead", "replay", "D1", "--dry-run")
        self.assertIn("1 message of orders would go back to pending", preview)
        self.assertEqual(self.state("D1"), "dead")
        refused = self.sagabox("dead", "replay", "D1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--yes", refused.stderr)
        self.assertEqual(self.state("D1"), "dead")
        done = self.run_fine("dead", "replay", "D1", "--yes", "--actor", "night shift")
        self.assertIn("D1 is pending again", done)
        self.assertEqual(self.state("D1"), "pending")
        events = [json.loads(line) for line in self.run_fine("audit", "export").splitlines()]
        self.assertEqual(
            [(e["kind"], e["message_id"], e["actor"]) for e in events],
            [("Replayed", "D1", "night shift")],
        )

    def test_a_person_is_asked_on_a_terminal(self):
        self.write("D1")
        self.kill("D1")
        written, code = self.on_a_terminal("n\n", "dead", "replay", "D1")
        self.assertIn("Replay 1 message of orders? [y/N]", written)
        self.assertIn("nothing was changed", written)
        self.assertEqual(code, 1)
        self.assertEqual(self.state("D1"), "dead")
        written, code = self.on_a_terminal("y\n", "dead", "replay", "D1")
        self.assertEqual(code, 0, written)
        self.assertEqual(self.state("D1"), "pending")

    def test_letters_are_chosen_by_code_and_time(self):
        for name, code, age in [
            ("A", "PROVIDER.REJECTED", 60),
            ("B", "TX.TIMEOUT", 60),
            ("C", "PROVIDER.REJECTED", 10_000),
        ]:
            self.write(name)
            self.kill(name, code, age)
        chosen = ("--code", "PROVIDER.REJECTED", "--since", "2h")
        listed = self.run_json("dead", "list", *chosen)
        self.assertEqual([row["id"] for row in listed["messages"]], ["A"])
        preview = self.run_json("dead", "replay", *chosen, "--dry-run")
        self.assertEqual(preview["matched"], 1)
        self.assertEqual(preview["filter"]["code"], "PROVIDER.REJECTED")

    def test_a_replay_that_nobody_runs_waits_and_says_so(self):
        self.write("D1")
        self.kill("D1")
        text = self.run_fine("dead", "replay", "--all", "--yes", "--rate", "50/s")
        self.assertIn("replay job 1", text)
        self.assertIn("waits: no relay delivers orders", text)
        self.assertIn("sagabox replay stop 1 --table orders", text)
        (job,) = json.loads(self.run_fine("replay", "list", "--store", self.url(), "--json"))["replays"]
        self.assertEqual((job["state"], job["matched"], job["rate_max"]), ("running", 1, 50))
        self.assertIn("stopped", self.job_verb("stop", "1").stdout)
        again = self.job_verb("stop", "1")
        self.assertEqual(again.returncode, 1)
        self.assertIn("only running jobs can be stopped", again.stderr)
        self.assertIn("running", self.job_verb("resume", "1", "--json").stdout)
        self.assertIn("dead", self.job_verb("show", "1").stdout)
        self.assertEqual(self.job_verb("show", "9").returncode, 1)

    def url(self):
        return f"sqlite:{self.file}"

    def job_verb(self, verb, *arguments):
        return subprocess.run(
            [SAGABOX, "replay", verb, "--store", self.url(), *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=ENVIRONMENT,
        )

    def test_a_running_relay_replays_delivered_messages_by_range(self):
        with start("demo", "--store", self.url(), "--fail", "0", "--rate", "100") as demo:
            try:
                limit = time.monotonic() + PATIENCE
                while time.monotonic() < limit:
                    done = self.run_json("outbox", "list", "--state", "done", "--limit", "5")
                    if len(done["messages"]) == 5:
                        break
                while time.monotonic() < limit:
                    (table,) = self.run_json("owners")["tables"]
                    if "replayer" in table:
                        break
                last = str(done["messages"][-1]["sequence"])
                text = self.run_fine("replay", "--from", "1", "--to", last, "--yes")
                self.assertRegex(text, r"replay job 1  █{20}  (\d+)/\1.*finished")
                job = json.loads(self.job_verb("show", "1", "--json").stdout)
                self.assertEqual((job["state"], job["from"]), ("finished", "done"))
                self.assertGreaterEqual(job["replayed"], 5)
            finally:
                demo.terminate()
                demo.communicate(timeout=PATIENCE)

    def test_a_replay_says_what_consumers_skip_and_goes_as_new_when_told(self):
        self.write("D1")
        self.kill("D1", seconds_ago=9 * 24 * 3600)
        old = self.run_fine("dead", "replay", "D1", "--dry-run")
        self.assertIn("note: 1 of them ended longer ago than inboxes keep keys", old)
        preview = self.run_json("dead", "replay", "--all", "--dry-run")
        self.assertEqual((preview["older_than_window"], preview["as_new"]), (1, False))
        self.assertIn("consumers may handle them a second time", preview["notes"][0])
        as_new = self.run_fine("dead", "replay", "--all", "--as-new", "--dry-run")
        self.assertIn("note: consumers that ask an inbox handle them again", as_new)
        self.run_fine("dead", "replay", "--all", "--as-new", "--yes")
        (job,) = json.loads(self.job_verb("list", "--json").stdout)["replays"]
        self.assertTrue(job["as_new"])
        self.run_fine("dead", "replay", "D1", "--as-new", "--yes")
        shown = self.run_json("outbox", "show", "D1", "--payload")
        self.assertEqual(shown["headers"], {"sagabox-as-new": "1"})

    def test_quarantine_needs_a_note_and_release_takes_it_back(self):
        self.write("D1")
        self.kill("D1")
        self.assertIn("--note", self.complaint("dead", "quarantine", "D1", "--yes", code=2))
        self.run_fine("dead", "quarantine", "D1", "--note", "waits for a fix", "--yes")
        self.assertEqual(self.state("D1"), "quarantined")
        self.assertIn("waits for a fix", self.run_fine("outbox", "list", "--state", "quarantined"))
        none = self.run_json("dead", "quarantine", "--all", "--note", "x", "--yes")
        self.assertEqual(none["results"], [])
        moved = self.run_json("dead", "release", "--all", "--yes")
        self.assertEqual(moved["results"][0]["was"], "quarantined")
        self.assertEqual(self.state("D1"), "pending")
        refused = self.complaint("dead", "release", "D1", "--yes", code=1)
        self.assertIn("D1 is pending: dead release takes only quarantined messages", refused)

    def write_again(self, name):
        """A pending message with the id of one that has ended, as a plain INSERT may make it."""
        self.write("another")
        self.sql("UPDATE orders_pending SET id = ? WHERE id = 'another'", name)

    def rows(self):
        """(sequence, state) of all that are not delivered."""
        return self.sql(
            "SELECT seq, state FROM orders_dead UNION ALL SELECT seq, 'pending' FROM orders_pending"
            " ORDER BY seq"
        )

    def test_acts_by_filter_move_the_rows_that_were_selected(self):
        self.write("D1")
        self.kill("D1", code="TX.TIMEOUT")
        self.write_again("D1")
        self.kill("D1")
        self.write_again("D1")
        self.assertEqual(self.rows(), [(1, "dead"), (2, "dead"), (3, "pending")])
        select = ("--code", "TX.TIMEOUT", "--note", "x", "--yes")
        moved = self.run_json("dead", "quarantine", *select)["results"]
        self.assertEqual([one["was"] for one in moved], ["dead"])
        self.assertEqual(self.rows(), [(1, "quarantined"), (2, "dead"), (3, "pending")])
        waits = self.run_json("dead", "release", "--all", "--yes", code=1)["results"]
        self.assertFalse(waits[0]["moved"])
        self.assertIn("until the pending one has ended", waits[0]["text"])
        self.run_fine("dead", "quarantine", "--all", "--note", "x", "--yes")
        self.assertEqual(self.rows(), [(1, "quarantined"), (2, "quarantined"), (3, "pending")])

    def test_dead_show_prefers_the_dead_message_of_an_id(self):
        self.write("D1")
        self.assertEqual(self.run_json("dead", "show", "D1")["state"], "pending")
        self.kill("D1")
        self.write_again("D1")
        self.assertEqual(self.run_json("dead", "show", "D1")["state"], "dead")
        self.assertEqual(self.run_json("outbox", "show", "D1")["state"], "pending")

    def test_dead_verbs_refuse_named_messages_that_are_not_theirs(self):
        for name in ("D1", "Q1", "OK"):
            self.write(name)
            self.kill(name)
        self.run_fine("dead", "quarantine", "Q1", "--note", "x", "--yes")
        self.sql(
            f"INSERT INTO orders_archive (seq, ended_at, {CARRIED})"
            f" SELECT seq, ended_at, {CARRIED} FROM orders_dead WHERE id = 'OK'"
        )
        self.sql("DELETE FROM orders_dead WHERE id = 'OK'")
        delivered = self.complaint("dead", "replay", "D1", "OK", "--yes", code=1)
        self.assertIn("OK is done: dead replay takes only dead and quarantined", delivered)
        self.assertIn("sagabox replay --table orders --from 3 --to 3", delivered)
        self.assertIn("nothing was changed", delivered)
        self.assertEqual((self.state("D1"), self.state("OK")), ("dead", "done"))
        refused = self.complaint("dead", "quarantine", "OK", "--note", "x", "--yes", code=1)
        self.assertIn("OK is done", refused)
        preview = self.run_fine("dead", "replay", "D1", "Q1", "--dry-run")
        self.assertIn("2 messages of orders (1 dead, 1 quarantined) would", preview)

    def test_an_id_that_two_tenants_have_is_never_guessed(self):
        message = ("--id", "same", "--topic", "a.b.c.v1", "--payload", "1")
        for tenant in ("acme", "other"):
            self.run_fine("outbox", "enqueue", "--table", "orders", "--tenant", tenant, *message)
        for verb in (
            ("outbox", "show", "same"),
            ("explain", "same"),
            ("dead", "quarantine", "same", "--note", "x", "--yes"),
        ):
            with self.subTest(verb=verb):
                self.assertIn(
                    'exists for several tenants ("acme", "other"); say which with --tenant',
                    self.complaint(*verb, code=1),
                )

        def states():
            return [
                self.run_json("outbox", "show", "same", "--tenant", tenant)["state"]
                for tenant in ("acme", "other")
            ]

        self.run_fine("dead", "quarantine", "same", "--tenant", "acme", "--note", "x", "--yes")
        self.assertEqual(states(), ["quarantined", "pending"])
        self.assertIn("set aside", self.run_fine("explain", "same", "--tenant", "acme"))
        self.run_fine("dead", "quarantine", "same", "--tenant", "other", "--note", "x", "--yes")
        self.assertEqual(states(), ["quarantined", "quarantined"])
        self.run_fine("dead", "release", "--all", "--yes")
        self.assertEqual(states(), ["pending", "pending"])
        both = self.complaint("dead", "release", "same", "--tenant", "acme", "--key", "k", "--yes", code=2)
        self.assertIn("do not go together", both)

    def test_what_was_moved_before_a_failure_is_told(self):
        self.kill_many(1001)
        self.sql(
            "CREATE TRIGGER broken BEFORE UPDATE ON orders_dead WHEN NEW.id = 'D1000'"
            " BEGIN SELECT RAISE(ABORT, 'broken on purpose'); END"
        )
        result = self.sagabox("dead", "quarantine", "--all", "--note", "x", "--yes", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(json.loads(result.stdout)["results"]), 1000)
        self.assertIn("(after 1 000 of 1 001 messages)", result.stderr)
        self.assertEqual((self.state("D0"), self.state("D1000")), ("quarantined", "dead"))

    def test_a_selection_that_is_cut_says_so(self):
        self.kill_many(100_001)
        result = self.sagabox("dead", "quarantine", "--all", "--note", "x", "--dry-run")
        self.assertEqual(result.returncode, 0)
        self.assertIn("100 000 messages of orders would be set aside", result.stdout)
        self.assertIn("these are the first 100 000", result.stderr)

    def test_a_replay_that_somebody_stops_did_not_go_fine(self):
        self.kill_many(1000)
        with start("demo", "--store", self.url(), "--fail", "0", "--rate", "1") as demo:
            try:
                limit = time.monotonic() + PATIENCE
                while time.monotonic() < limit:
                    (table,) = self.run_json("owners")["tables"]
                    if "replayer" in table:
                        break
                replay = ("dead", "replay", "--store", self.url(), "--all", "--yes", "--rate", "1")
                with start(*replay) as follower:
                    while self.job_verb("stop", "1").returncode and time.monotonic() < limit:
                        pass
                    out, complaints = follower.communicate(timeout=PATIENCE)
                self.assertEqual(follower.returncode, 1, out + complaints)
                self.assertIn("sagabox replay resume 1 --table orders", out)
            finally:
                demo.terminate()
                demo.communicate(timeout=PATIENCE)

    def test_pause_and_resume_say_whether_they_changed_anything(self):
        self.assertIn("would be paused", self.run_fine("pause", "--dry-run"))
        self.assertTrue(self.run_json("pause", "--note", "deploy", "--yes")["changed"])
        self.assertFalse(self.run_json("pause")["changed"])
        self.assertIn("is resumed", self.run_fine("resume", "--yes"))
        self.assertIn("was not paused", self.run_fine("resume"))

    def test_purge_counts_asks_and_deletes(self):
        self.write("D1")
        self.kill("D1", seconds_ago=1000)
        self.write("W1")
        purge = ("purge", "--state", "dead", "--older-than", "10m")
        self.assertIn("1 dead message of orders older than 10m00s would be", self.run_fine(*purge, "--dry-run"))
        self.assertEqual(self.sagabox(*purge).returncode, 2)
        self.assertEqual(self.state("D1"), "dead")
        self.assertEqual(self.run_json(*purge, "--yes")["rows"], 1)
        self.assertIn("nothing to purge", self.run_fine(*purge, "--yes"))
        lost = self.complaint("purge", "--state", "pending", "--older-than", "0", "--yes", code=2)
        self.assertIn("--force-pending", lost)
        self.assertEqual(self.state("W1"), "pending")

    def test_audit_verifies_with_an_anchor_and_finds_an_edit(self):
        self.run_fine("pause")
        self.run_fine("resume")
        anchor = self.run_json("audit", "verify")["anchor"]
        self.run_fine("pause")
        self.assertIn("the log holds: 3 entries", self.run_fine("audit", "verify", "--anchor", anchor))
        self.sql("UPDATE sagabox_audit_log SET actor = X'6e6f' WHERE number = 2")
        report = self.run_json("audit", "verify", code=1)
        self.assertEqual(report["problems_found"], 1)
        self.assertIn("tampered", self.run_fine("audit", "verify", code=1))
        self.assertIn("tampered", self.run_fine("audit", "verify", "--anchor", anchor, code=1))
        self.sql("DELETE FROM sagabox_audit_log")
        emptied = self.run_json("audit", "verify", "--anchor", anchor, code=1)
        self.assertEqual((emptied["entries"], emptied["problems_found"]), (0, 2))

    def test_migrations_go_up_and_down(self):
        steps = self.run_json("migrate", "status")
        self.assertTrue(steps["current"])
        self.assertEqual({step.get("outbox") for step in steps["steps"]}, {None, "orders"})
        self.write("W1")
        for act in ("--dry-run", "--yes"):
            self.assertIn("--to N", self.complaint("migrate", "down", act, "--force", code=2))
        self.assertIn("from 1 to", self.complaint("migrate", "down", "--to", "0", "--yes", code=2))
        self.complaint("migrate", "down", "--to", "1", "--all", "--yes", code=2)
        self.assertTrue(self.run_json("migrate", "status")["current"])
        self.assertIn("would be taken back", self.run_fine("migrate", "down", "--all", "--dry-run"))
        unasked = self.sagabox("migrate", "down", "--all", "--force")
        self.assertEqual(unasked.returncode, 2)
        self.assertIn("say --yes", unasked.stderr)
        lost = self.sagabox("migrate", "down", "--all", "--yes")
        self.assertEqual(lost.returncode, 1)
        self.assertIn("undelivered messages", lost.stderr)
        self.assertIn("--force", lost.stderr)
        self.run_fine("migrate", "down", "--to", "1", "--yes")
        self.assertIn("would be applied", self.run_fine("migrate", "up", "--dry-run"))
        self.run_fine("migrate", "up")
        self.run_fine("migrate", "down", "--all", "--yes", "--force")
        self.run_fine("migrate", "status", code=1)
        self.assertIn("there is no outbox", self.complaint("status", code=2))
        self.assertIn("sagabox migrate up", self.run_fine("doctor", code=1))
        self.assertIn("nothing to reshard", self.complaint(
            "migrate", "reshard", "--table", "orders", "--shards", "8", "--yes", code=2))


    def engines(self):
        steps = self.run_json("migrate", "status")["steps"]
        return {step["engine"] for step in steps if step.get("applied_at")}

    def test_engines_are_made_and_removed_alone(self):
        self.assertEqual(self.engines(), {"outbox", "idempotency", "inbox", "saga", "hub"})
        self.run_fine("migrate", "down", "--engine", "inbox", "--all", "--yes")
        self.assertEqual(self.engines(), {"outbox", "idempotency", "saga", "hub"})
        self.assertIn("inbox would be made", self.run_fine("migrate", "up", "--dry-run"))
        self.run_fine("migrate", "down", "--all", "--yes")
        self.run_fine("migrate", "up", "--engine", "inbox")
        self.assertEqual(self.engines(), {"inbox"})
        self.complaint("migrate", "up", "--engine", "sagas", code=2)


class WrongInput(OnAFile, unittest.TestCase):
    def test_every_verb_says_what_would_be_right(self):
        self.run_fine("migrate", "up", "--table", "billing")
        for arguments, cure in [
            (("status", "--table", "orrders"), 'no table "orrders"'),
            (("status", "--over", "1"), "500ms, 3s"),
            (("tail", "--every", "x"), "500ms, 3s"),
            (("outbox", "list"), "say --table: billing, orders"),
            (("outbox", "list", "--table", "orders", "--state", "alive"), "pending, done, dead"),
            (("outbox", "list", "--table", "orders", "--limit", "0"), "from 1 to 1000"),
            (("outbox", "list", "--table", "orders", "--code", "OOPS"), "the codes are TX.TIMEOUT"),
            (("outbox", "show"), "ID is required"),
            (("outbox", "show", "a b"), "sagabox outbox show --help"),
            (("outbox", "enqueue", "--table", "orders", "--topic", "a"), "--payload"),
            (
                ("outbox", "enqueue", "--table", "orders", "--topic", "a", "--payload", "{"),
                "SCHEMA.VALIDATION_FAILED",
            ),
            (("explain",), "ID is required"),
            (("owners", "--table", "1"), 'no table "1"'),
            (("doctor", "--frobnicate"), "sagabox doctor --help"),
            (("dead", "list", "--table", "orders", "--since", "yesterday"), "2h, 7d"),
            (("dead", "replay", "--table", "orders", "--rate", "fast"), "50/s"),
            (("dead", "replay", "X", "--rate", "5/s"), "by filter"),
            (("dead", "replay", "--table", "orders", "--yes"), "or say --all"),
            (("dead", "quarantine", "--table", "orders", "--note", "x", "--yes"), "or say --all"),
            (("dead", "release", "--table", "orders", "--yes"), "or say --all"),
            (("dead", "release", "X", "--topic", "a", "--yes"), "do not go together"),
            (("dead", "replay", "X", "--all", "--yes"), "do not go together"),
            (("dead", "replay", "--all", "--since", "2h", "--yes"), "do not go together"),
            (("dead", "replay", "--key", "", "--yes"), "it is empty"),
            (("pause", "--table", "orders", "--topic", ""), "it is empty"),
            (("resume", "--table", "orders", "--topic", ""), "it is empty"),
            (("dead", "bury"), "sagabox dead --help"),
            (("replay", "--table", "orders"), "say --from and --to"),
            (("replay", "--table", "orders", "--from", "then"), "a sequence (8812)"),
            (("replay", "--table", "orders", "--from", "9", "--state", "pending"), "--state done"),
            (("pause",), "say --table: billing, orders"),
            (("purge", "--table", "orders"), "--older-than 7d"),
            (("purge", "--table", "orders", "--older-than", "old"), "90s, 2h or 7d"),
            (("migrate", "up", "--table", "a b"), "letters, digits and _"),
            (("migrate", "reshard", "--table", "orders"), "--shards is required"),
            (("migrate", "up", "--shards", "0"), "from 1 to 1024"),
            (("audit", "verify", "--anchor", "17"), "NUMBER:HASH"),
            (("completion", "tcsh"), "bash,zsh,fish"),
        ]:
            with self.subTest(arguments=arguments):
                if arguments[0] == "completion":
                    result = start(*arguments)
                    out, complaint = result.communicate(timeout=PATIENCE)
                    self.assertEqual((result.returncode, out), (2, ""))
                else:
                    complaint = self.complaint(*arguments, code=2)
                self.assertIn(cure, complaint)

    def test_a_store_must_be_named_and_there(self):
        for url, cure in [
            (None, "--store URL"),
            ("memory:", "another store in every process"),
            ("sqlite:nowhere.db", "there is no file nowhere.db"),
            ("mongo://db/orders", 'no store for "mongo:"'),
        ]:
            with self.subTest(url=url):
                options = ["--store", url] if url else []
                result = start("status", *options, cwd=self.folder)
                out, complaint = result.communicate(timeout=PATIENCE)
                self.assertEqual((result.returncode, out), (2, ""))
                self.assertIn(cure, complaint)
        self.assertFalse((self.folder / "nowhere.db").exists())

    def test_the_store_may_come_from_the_environment_or_lie_in_the_folder(self):
        status = start("status", "--over", "1ms", env={**ENVIRONMENT, "SAGABOX_STORE": f"sqlite:{self.file}"})
        out, complaint = status.communicate(timeout=PATIENCE)
        self.assertEqual(status.returncode, 0, complaint)
        self.assertIn("orders", out)
        self.file.rename(self.folder / "sagabox.db")
        status = start("status", "--over", "1ms", cwd=self.folder)
        out, complaint = status.communicate(timeout=PATIENCE)
        self.assertEqual(status.returncode, 0, complaint)
        self.assertIn("orders", out)

    def test_rows_are_cut_to_the_window_and_ids_are_not(self):
        name = "a-rather-long-id-of-a-dead-letter-01"
        self.write(name)
        self.kill(name)
        written, _ = self.on_a_terminal("", "dead", "list")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
        for line in plain.splitlines():
            self.assertLess(len(line), 80, line)
        self.assertIn(name, plain)
        self.assertIn("…", plain)

    def test_colours_only_on_a_terminal_that_wants_them(self):
        self.write("D1")
        self.kill("D1")
        written, _ = self.on_a_terminal("", "dead", "list")
        self.assertIn("\x1b[31mD1", written)
        self.assertNotIn("\x1b", self.run_fine("dead", "list"))


class Completion(OnAFile, unittest.TestCase):
    def test_names_of_tables_come_from_the_store_that_was_typed(self):
        self.run_fine("migrate", "up", "--table", "parcels")
        script = subprocess.run(
            [SAGABOX, "completion", "bash"], capture_output=True, text=True, check=True
        ).stdout
        line = f"sagabox status --store sqlite:{self.file} --table p"
        ask = (
            f'sagabox() {{ "{SAGABOX}" "$@"; }}; COMP_LINE="{line}"; '
            f"COMP_WORDS=({line}); COMP_CWORD=5; _sagabox; echo \"${{COMPREPLY[*]}}\""
        )
        answer = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True, check=True).stdout
        self.assertEqual(answer.strip(), "parcels")


class Documents(unittest.TestCase):
    def test_the_manual_is_that_of_this_command_line(self):
        manual = Path(__file__).parents[3] / "packaging" / "man" / "sagabox.1"
        made = subprocess.run([SAGABOX, "man"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(
            made,
            manual.read_text(encoding="utf-8"),
            "make it again: build/release/sagabox man > packaging/man/sagabox.1",
        )

    def test_bash_completes_verbs_and_options(self):
        script = subprocess.run(
            [SAGABOX, "completion", "bash"], capture_output=True, text=True, check=True
        ).stdout
        for words, wanted in [
            (["dead", "re"], "replay release"),
            (["dead", "replay", "--co"], "--code"),
            (["--store", "x", "sta"], "status"),
            (["completion", "z"], "zsh"),
            (["outbox", "list", "--state", "d"], "done dead"),
            (["dead", "replay", "--code", "PROVIDER.R"], "PROVIDER.REJECTED"),
            (["migrate", "up", "--engine", "in"], "inbox"),
        ]:
            line = " ".join(words)
            ask = f'COMP_WORDS=(sagabox {line}); COMP_CWORD={len(words)}; _sagabox; echo "${{COMPREPLY[*]}}"'
            answer = subprocess.run(
                ["bash", "-c", script + ask], capture_output=True, text=True, check=True
            ).stdout
            self.assertEqual(answer.strip(), wanted)
        for shell in ("zsh", "fish"):
            made = subprocess.run(
                [SAGABOX, "completion", shell], capture_output=True, text=True, check=True
            ).stdout
            self.assertIn("dead list", made)
            self.assertTrue(re.search(r"without asking", made))


if __name__ == "__main__":
    unittest.main()
