#!/usr/bin/env python3
"""Sagas from the command line, on a file and over a daemon.

usage: saga_test.py SAGABOX [unittest arguments]
"""

import base64
import hmac
import http.server
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from daemon_folder import CLEAN, PATIENCE, SAGABOX, FolderTestCase, eventually

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

# Past its pivot it can only go forward: when the ticket is refused it is dead.
PURCHASE = """saga: purchase
steps:
  - {{ name: charge, action: "{url}/charge", pivot: true }}
  - {{ name: ticket, action: "{url}/ticket", compensation: none }}
"""

PURCHASES = """stores:
  default: {{ url: "sqlite:sagabox.db" }}
routes:
  - {{ topic: "**", to: "fn:show" }}
transports: {{ http: {{ allow: [127.0.0.1] }} }}
sagas:
  definitions: [purchase.yaml]
"""

SAGAS = Path(__file__).resolve().parents[3] / "docs/sagas.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

# The call as it came is ours; nothing else is.
CHECK = """import { readFileSync } from "node:fs";
import { isOurs } from "./verify.mjs";
const secret = process.argv[2];
const call = JSON.parse(readFileSync("call.json"));
const other = secret.replace("MfKQ", "AAAA");
const late = Date.now() / 1000 + 600;
console.log(isOurs(secret, call, call.body));
console.log(isOurs(other, call, call.body));
console.log(isOurs(secret, call, call.body + " "));
console.log(isOurs(secret, call, call.body, late));
console.log(isOurs(secret, { ...call, "idempotency-key": "another/step/action/0" }, call.body));
console.log(isOurs(secret, { ...call, "webhook-signature": "v1," }, call.body));
console.log(isOurs(secret, { ...call, "saga-direction": "compensation" }, call.body));
"""


class Participant:
    """Does what it is asked for, but for the paths that are refused."""

    def __init__(self):
        self.refused = set()
        self.accepts = False  # and answers later
        self.calls = []
        participant = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                participant.calls.append({"path": self.path, "body": body, **headers})
                done = 202 if participant.accepts else 200
                self.send_response(404 if self.path in participant.refused else done)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def call(self, path):
        """The first call that came there."""
        found = lambda: [one for one in self.calls if one["path"] == path]
        return eventually(f"{path} should be called", found)[0]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


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

    def serve_purchases(self, settings=""):
        participant = Participant()
        self.addCleanup(participant.close)
        (self.folder / "purchase.yaml").write_text(PURCHASE.format(url=participant.url), encoding="utf-8")
        self.config.write_text(PURCHASES.format() + settings, encoding="utf-8")
        self.serve("--config", "sagabox.yaml")
        return participant, ("--server", f"http://{self.address()}")

    def dead(self, *arguments, code=0):
        result = self.sagabox("dead", *arguments, "--kind", "saga")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def test_dead_sagas_are_listed_shown_and_replayed(self):
        participant, over = self.serve_purchases()
        participant.refused.add("/ticket")
        sagas = [self.json_of("start", "purchase", *over)["saga"] for _ in range(3)]
        for saga in sagas:
            self.saga("show", saga, "--watch", "--every", "20ms", *over)
        for place in ((), over):  # on the store, and over the daemon
            listed = json.loads(self.dead("list", "--json", *place))["sagas"]
            self.assertEqual({one["id"] for one in listed}, set(sagas))
            self.assertIn("purchase v1 · failed", self.dead("show", sagas[0], *place))
            self.assertIn("no dead sagas", self.dead("list", "--tenant", "acme", *place))
        self.assertIn("3 sagas would go on where they failed", self.dead("replay", "--all", "--dry-run"))
        self.dead("replay", code=2)  # which?
        self.dead("replay", "--all", "--topic", "a.b.c.v1", code=2)
        self.dead("replay", "--all", code=2)  # nobody can be asked
        self.dead("replay", "nobody", "--yes", code=1)

        self.assertIn("quarantined", self.dead("quarantine", sagas[2], "--note", "a fraud", "--yes", *over))
        participant.refused.clear()
        self.assertIn(f"{sagas[0]}  replayed", self.dead("replay", sagas[0], "--yes"))
        replayed = json.loads(self.dead("replay", "--all", "--yes", "--json", *over))
        self.assertEqual((replayed["kind"], replayed["act"], replayed["moved"]), ("saga", "replay", 1))
        self.assertEqual(replayed["results"], [{"id": sagas[1], "moved": True}], "the third one is set aside")
        for saga in sagas[:2]:
            self.assertIn("completed", self.saga("show", saga, "--watch", "--every", "20ms").stdout)
        foreign = self.sagabox("dead", "replay", "--kind", "saga", "--tenant", "other", sagas[0], "--yes")
        self.assertIn("there is no saga", foreign.stderr)
        self.assertIn("is completed, not dead", self.sagabox("dead", "replay", "--kind", "saga", sagas[0]).stderr)
        self.assertIn("released", self.dead("release", sagas[2], "--yes"))
        self.assertIn(sagas[2], self.dead("list"))

    def test_a_watch_without_a_terminal_says_each_change_once(self):
        participant, over = self.serve_purchases()
        participant.refused.add("/ticket")
        saga = self.json_of("start", "purchase", *over)["saga"]
        lines = self.saga("show", saga, "--watch", "--every", "5ms", *over).stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r"^\d\d:\d\d:\d\d ")
        self.assertEqual(len([line for line in lines if "✓ charge" in line]), 1, lines)
        self.assertIn("purchase v1 · failed", lines[-1])

    def test_a_watch_on_a_terminal_is_drawn_over_and_ends_with_ctrl_c(self):
        (self.folder / "trip.yaml").write_text(TRIP, encoding="utf-8")
        self.config.write_text(CONFIG, encoding="utf-8")
        self.serve("--config", "sagabox.yaml")
        saga = self.json_of("start", "trip", "--server", f"http://{self.address()}")["saga"]
        self.eventually_waits(saga, "waits_approval")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        watch = subprocess.Popen(
            [SAGABOX, "saga", "show", saga, "--watch", "--every", "20ms"],
            cwd=self.folder,
            env={**CLEAN, "TERM": "xterm"},
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        os.close(theirs)
        watchdog = threading.Timer(PATIENCE, watch.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        shown = ""
        while len(re.findall("waits for approval", shown)) < 3:
            shown += os.read(ours, 4096).decode()
        self.assertIn("\x1b[", shown, "drawn over in place")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(PATIENCE), 0)
        self.assertEqual(watch.communicate()[1], b"")

    def test_a_participant_answers_later_with_its_token_alone(self):
        participant, over = self.serve_purchases("  reply_secret: a secret of this test\n")
        participant.accepts = True
        saga = self.json_of("start", "purchase", *over)["saga"]
        first = participant.call("/charge")
        self.assertEqual(self.reply("forged" + first["saga-reply-token"], {})[0], 403)
        self.assertEqual(self.reply(first["saga-reply-token"], {"output": {"paid": 12}}), (200, {"result": "applied"}))
        self.assertEqual(self.reply(first["saga-reply-token"], {}), (200, {"result": "ignored"}))
        second = participant.call("/ticket")
        self.assertEqual(self.reply(second["saga-reply-token"], {"result": "fail", "error": "sold out"})[0], 200)
        self.assertIn("failed", self.saga("show", saga, "--watch", "--every", "20ms").stdout)
        self.assertIn("sold out", self.saga("show", saga).stdout)
        self.assertIn("ReplyIgnored", self.saga("history", saga).stdout)

    def reply(self, token, body):
        request = urllib.request.Request(
            f"http://{self.address()}/v1/saga-replies",
            json.dumps(body).encode(),
            {"Saga-Reply-Token": token, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def test_calls_are_signed_as_the_documents_verify_them(self):
        (self.folder / "secret").write_text(SECRET + "\n", encoding="utf-8")
        participant, over = self.serve_purchases("  call_secret_file: secret\n")
        saga = self.json_of("start", "purchase", "--input", '{"sum": 12}', *over)["saga"]
        self.saga("show", saga, "--watch", "--every", "20ms")
        call = participant.call("/charge")
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        content = f"{call['webhook-id']}.{call['webhook-timestamp']}.{call['body']}"
        right = base64.b64encode(hmac.digest(key, content.encode(), "sha256")).decode()
        self.assertEqual(call["webhook-signature"], f"v1,{right}")
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        # The example of the document, as it stands there.
        example = re.search(r"```js\n(// verify.mjs\n.*?)```", SAGAS.read_text(encoding="utf-8"), re.DOTALL)
        (self.folder / "verify.mjs").write_text(example.group(1), encoding="utf-8")
        (self.folder / "call.json").write_text(json.dumps(call), encoding="utf-8")
        (self.folder / "check.mjs").write_text(CHECK, encoding="utf-8")
        checked = subprocess.run(
            ["node", "check.mjs", SECRET], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(checked.stdout.split(), ["true"] + ["false"] * 6, checked.stderr)

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
