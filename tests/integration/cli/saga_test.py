#!/usr/bin/env python3
"""Sagas from the command line, on a file and over a daemon.

usage: saga_test.py SAGABOX [unittest arguments]
"""

import json
import unittest

from daemon_folder import FolderTestCase, eventually

TRAVEL = """saga: travel
version: 3
steps:
  - { name: flight, action: "fn:book", compensation: "fn:cancel" }
  - { name: approve, wait: approval, timeout: 1h }
"""

# What a daemon can do without participants of its own.
TRIP = """saga: trip
steps:
  - { name: ask, action: "outbox:trip.seat.asked.v1", compensation: "outbox:trip.seat.freed.v1" }
  - { name: approve, wait: approval, timeout: 1h }
  - { name: tell, action: "outbox:trip.trip.booked.v1", compensation: none }
"""

CONFIG = """stores:
  default: { url: "sqlite:sagabox.db" }
routes:
  - { topic: "**", to: "fn:show" }
sagas:
  definitions: [trip.yaml]
"""


class SagaVerbs(FolderTestCase):
    def saga(self, *arguments, code=0):
        result = self.sagabox("saga", *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def json_of(self, *arguments):
        return json.loads(self.saga(*arguments, "--json").stdout)

    def define(self, text=TRAVEL, *arguments, code=0):
        (self.folder / "travel.yaml").write_text(text, encoding="utf-8")
        return self.saga("define", "travel.yaml", *arguments, code=code)

    def setUp(self):
        super().setUp()
        made = self.sagabox("migrate", "up", "--store", "sqlite:sagabox.db")
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_definitions_are_checked_and_stored_once(self):
        self.assertIn("travel v3 is right", self.define(TRAVEL, "--dry-run").stdout)
        self.assertEqual(self.json_of("definitions")["definitions"], [])
        self.assertIn("travel v3 is stored", self.define().stdout)
        self.define()
        stored = self.json_of("definitions", "travel")["definitions"]
        self.assertEqual([(one["name"], one["version"]) for one in stored], [("travel", 3)])
        self.assertEqual(stored[0]["definition"]["saga"], "travel")
        self.define(TRAVEL.replace("fn:cancel", "fn:other"), code=1)
        wrong = self.define(TRAVEL.replace("wait:", "waits:"), code=2)
        self.assertIn("travel.yaml:5", wrong.stderr)

    def test_a_start_waits_in_the_inbox_while_nobody_runs_sagas(self):
        self.define()
        started = self.json_of("start", "travel", "--key", "trip-77", "--wait", "0", "--input", '{"n": 1}')
        self.assertEqual(started["result"], "pending")
        again = self.json_of("start", "travel", "--key", "trip-77", "--wait", "0")
        self.assertEqual(again["saga"], started["saga"], "the same key is the same saga")
        text = self.saga("start", "travel", "--wait", "0").stdout
        self.assertIn("pending: no process has taken it yet", text)
        self.assertEqual(self.json_of("list")["sagas"], [])
        missing = self.saga("show", started["saga"], code=1)
        self.assertIn("there is no saga", missing.stderr)
        unknown = self.saga("start", "lodging", code=1)
        self.assertIn("sagabox saga define", unknown.stderr)

    def test_the_same_over_a_daemon(self):
        self.serve()
        over = ("--server", f"http://{self.address()}")
        self.define(TRAVEL, *over)
        self.assertEqual(self.json_of("definitions", *over), self.json_of("definitions"))
        started = self.json_of("start", "travel", "--key", "trip-78", "--wait", "0", *over)
        self.assertEqual(started["saga"], self.json_of("start", "travel", "--key", "trip-78", "--wait", "0")["saga"])
        self.assertEqual(self.json_of("list", "--label", "order=77", *over)["sagas"], [])
        self.assertEqual(self.json_of("count", *over)["counts"], [])
        self.saga("show", "nobody", *over, code=1)
        self.saga("pause", "nobody", *over, code=1)

    def test_a_daemon_runs_sagas_that_wait_for_people(self):
        (self.folder / "trip.yaml").write_text(TRIP, encoding="utf-8")
        self.config.write_text(CONFIG, encoding="utf-8")
        self.serve("--config", "sagabox.yaml")
        over = ("--server", f"http://{self.address()}")
        started = self.json_of("start", "trip", "--key", "trip-77", "--label", "order=77", "--input", '{"n": 1}', *over)
        self.assertEqual(started["result"], "applied")
        saga = started["saga"]
        self.wait_for("out", "delivered trip.seat.asked.v1")
        self.eventually_waits(saga, "waits_approval")
        shown = self.saga("show", saga).stdout
        self.assertIn("trip v1 · running · started", shown)
        self.assertIn("by key trip-77", shown)
        self.assertIn("✓ ask", shown)
        self.assertIn("approve   waits for approval", shown)
        self.assertIn("· tell   not reached", shown)
        self.assertEqual([one["id"] for one in self.json_of("list", "--label", "order=77", *over)["sagas"]], [saga])
        self.assertNotIn("input", self.json_of("show", saga, *over))
        self.assertEqual(self.json_of("show", saga, "--payload", *over)["input"], {"n": 1})

        self.assertIn("applied: approve", self.saga("approve", saga, "--note", "seat is fine", *over).stdout)
        last = self.saga("show", saga, "--watch", "--every", "20ms", "--json", *over).stdout.splitlines()[-1]
        self.assertEqual(json.loads(last)["state"], "completed")
        history = self.json_of("history", saga, "--verify", *over)
        self.assertTrue(history["intact"], history)
        self.assertEqual(history["entries"][0]["event"], "TxSagaStarted")
        refused = self.saga("cancel", saga, "--yes", *over, code=1)
        self.assertIn("refused", refused.stderr)

        other = self.json_of("start", "trip", *over)["saga"]
        self.eventually_waits(other, "waits_approval")
        self.saga("cancel", other, code=2)  # nobody can be asked
        self.assertIn("nothing was changed", self.saga("cancel", other, "--dry-run").stdout)
        self.assertIn("applied: cancel", self.saga("cancel", other, "--yes", *over).stdout)
        last = self.saga("show", other, "--watch", "--every", "20ms", "--json").stdout.splitlines()[-1]
        self.assertEqual(json.loads(last)["state"], "cancelled")
        self.assertEqual(self.json_of("purge", "trip", "--older-than", "0", "--yes", *over)["purged"], 2)
        self.assertEqual(self.json_of("list")["sagas"], [])

    def eventually_waits(self, saga, why):
        def found():
            reasons = self.json_of("explain", saga)["reasons"]
            return [one for one in reasons if one["why"] == why]

        eventually(f"{saga} should be at {why}", found)

    def test_wrong_use_says_what_would_be_right(self):
        for wrong, cure in [
            (("start", "travel", "--label", "order"), "NAME=VALUE"),
            (("start", "travel", "--wait", "10s"), "at most 5s"),
            (("list", "--state", "dead"), "running, compensating"),
            (("set-step", "s1", "flight", "lost"), "pending, succeeded"),
            (("purge", "travel"), "--older-than"),
        ]:
            with self.subTest(wrong):
                self.assertIn(cure, self.saga(*wrong, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
