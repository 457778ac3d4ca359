#!/usr/bin/env python3
"""The operator's verbs over a daemon, side by side with the same verbs on its store.

usage: remote_test.py SAGABOX [unittest arguments]
"""

import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

SAGABOX = str(Path(sys.argv.pop(1)).resolve())
PATIENCE = 60  # seconds; only a failure takes so long
CLEAN = {name: text for name, text in os.environ.items() if not name.startswith("SAGABOX_")}
# Messages that nothing moves while they are looked at.
LATER = ("--not-before", "2099-01-01T00:00:00Z")
# They differ between two looks at the same thing; who lives on a SQLite file only its process knows.
MOVING = {"now", "store", "destinations", "live", "lease_left_seconds", "in_per_second", "out_per_second"}

CONFIG = """\
api_keys_file: sagabox.keys
stores:
  main: {{ url: "sqlite:orders.db", tables: [orders, billing] }}
transports: {{ http: {{ allow: ["127.0.0.1"] }} }}
routes:
  - topic: "down.**"
    to: "http://127.0.0.1:{closed}/hook"
  - topic: "limited.**"
    to: "file:limited"
    limits: {{ budget: {{ messages: 1, window: 1h }} }}
  - topic: "orders.**"
    to: "file:out"
"""


def eventually(what, found):
    limit = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > limit:
            raise AssertionError(what())
        time.sleep(0.05)
    return value


def still(value):
    """Without what moves from look to look."""
    if isinstance(value, dict):
        return {name: still(inner) for name, inner in value.items() if name not in MOVING}
    if isinstance(value, str):
        return re.sub(r"\bfor \d+[dhms]\w*", "for a while", value)
    return [still(inner) for inner in value] if isinstance(value, list) else value


class DaemonTestCase(unittest.TestCase):
    """A folder, and a process of ours in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sagabox-remote-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Bound and not listened to: nobody else gets it, and who connects is refused.
        self.closed = socket.socket()
        self.addCleanup(self.closed.close)
        self.closed.bind(("127.0.0.1", 0))

    def sagabox(self, *arguments, **environment):
        return subprocess.run(
            [SAGABOX, *arguments],
            cwd=self.folder,
            env={**CLEAN, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def key(self, name, *arguments):
        made = self.sagabox("key", "create", "--name", name, *arguments)
        self.assertEqual(made.returncode, 0, made.stderr)
        (self.folder / f"{name}.key").write_text(made.stdout)
        return made.stdout.strip()

    def serve(self, more=""):
        for name, arguments in {
            "boss": ["--role", "admin", "--payloads"],
            "reader": ["--role", "read"],
            "acme": ["--role", "operate", "--tenant", "acme"],
        }.items():
            self.key(name, *arguments)
        (self.folder / "sagabox.yaml").write_text(CONFIG.format(closed=self.closed.getsockname()[1]) + more)
        with open(self.folder / "out.log", "wb") as out, open(self.folder / "err.log", "wb") as err:
            daemon = subprocess.Popen(
                [SAGABOX, "serve"],
                cwd=self.folder,
                env={**CLEAN, "SAGABOX_LISTEN": "127.0.0.1:0"},
                stdout=out,
                stderr=err,
            )
        self.addCleanup(self.stop, daemon)

        def address():
            self.assertIsNone(daemon.poll(), (self.folder / "err.log").read_text())
            return re.search(r"(https?://127\.0\.0\.1:\d+) .*owned", (self.folder / "out.log").read_text())

        self.url = eventually(lambda: "no daemon", address).group(1)

    @staticmethod
    def stop(daemon):
        if daemon.poll() is None:
            daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def on_store(self, *arguments):
        return self.sagabox(*arguments, "--store", "sqlite:orders.db")

    def over_daemon(self, *arguments, key="boss"):
        return self.sagabox(*arguments, "--server", self.url, "--key-file", f"{key}.key")

    def json(self, *arguments, code=0, key="boss"):
        result = self.over_daemon(*arguments, "--json", key=key)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def same(self, *arguments, code=0):
        """Both say the same; returns what."""
        store = self.on_store(*arguments, "--json")
        daemon = self.over_daemon(*arguments, "--json")
        self.assertEqual(store.returncode, code, store.stderr)
        self.assertEqual(daemon.returncode, code, daemon.stderr)
        self.assertEqual(still(json.loads(daemon.stdout)), still(json.loads(store.stdout)), arguments)
        return json.loads(daemon.stdout)

    def complaint(self, *arguments, code=1, key="boss"):
        result = self.over_daemon(*arguments, key=key)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stderr

    def write(self, name, topic="orders.order.placed.v1", *arguments, key="boss"):
        return self.json(
            "outbox", "enqueue", "--table", "orders", "--id", name, "--topic", topic,
            "--payload", '{"order": 1.50}', *arguments, key=key,
        )  # fmt: skip

    def whys(self, name, *reasons):
        """Waits until these are among the reasons; returns their texts by name."""

        def found():
            told = self.json("explain", name)["reasons"]
            texts = {reason["why"]: reason["text"] for reason in told}
            return texts if texts.keys() >= set(reasons) else None

        return eventually(lambda: self.over_daemon("explain", name).stdout, found)

    def until(self, name, state):
        show = lambda: self.json("outbox", "show", name)["state"]  # noqa: E731
        eventually(lambda: f"{name} is {show()}", lambda: show() == state)


class Remote(DaemonTestCase, unittest.TestCase):
    def setUp(self):
        super().setUp()
        # Its dead letters are messages without a route.
        dead_at_once = self._testMethodName == "test_acts_act_and_are_audited_under_the_key"
        self.serve("unroutable: dead\n" if dead_at_once else "")

    def test_looks_show_what_the_store_shows(self):
        self.json("pause", "--table", "orders", "--topic", "some.topic.v1", "--note", "why not")
        for number in range(3):
            self.write(f"W{number}", "orders.order.placed.v1", "--key", "17", "--header", "a: b/ü&", *LATER)
        self.write("L1", "nowhere.v1", "--tenant", "acme", *LATER)
        (self.folder / "bytes").write_bytes(b"\x00\x01")
        self.json("outbox", "enqueue", "--table", "billing", "--id", "B/1", "--topic", "orders.b.v1",
                  "--payload-file", "bytes")  # fmt: skip
        self.until("B/1", "done")

        status = self.same("status", "--over", "10ms")
        self.assertEqual([table["pending"] for table in status["tables"]], [0, 4])
        self.same("outbox", "list", "--table", "orders")
        first = self.same("outbox", "list", "--table", "orders", "--limit", "2")
        rest = self.same("outbox", "list", "--table", "orders", "--after", first["next"])
        self.assertEqual([row["id"] for row in rest["messages"]], ["W2", "L1"])
        filtered = ["--topic", "nowhere.v1", "--tenant", "acme", "--until", "2099-01-01"]
        self.assertEqual(len(self.same("outbox", "list", "--table", "orders", *filtered)["messages"]), 1)
        self.same("outbox", "list", "--table", "billing", "--state", "done", "--since", "2020-01-01")
        self.same("outbox", "show", "W1")
        shown = self.over_daemon("outbox", "show", "W1", "--payload", "--json").stdout
        self.assertIn('"payload":{"order": 1.50}', shown, "byte for byte")
        self.assertEqual(shown, self.on_store("outbox", "show", "W1", "--payload", "--json").stdout)
        self.assertEqual(self.same("outbox", "show", "B/1", "--payload")["payload_base64"], "AAE=")
        owners = self.same("owners")["tables"][0]
        self.assertEqual(owners["live"], [owners["shards"][0]["owner"]])
        self.same("dead", "list", "--table", "orders")
        self.same("replay", "list")
        self.same("audit", "verify")
        exported = self.over_daemon("audit", "export")
        self.assertEqual(exported.stdout, self.on_store("audit", "export").stdout)
        self.assertEqual(exported.stderr, "1 entry\n")
        self.assertIn("W0 orders.order.placed.v1", self.over_daemon("outbox", "oldest").stdout)
        self.assertRegex(self.over_daemon("tail", "--for", "10ms", "--every", "10ms").stdout, "^$")
        for verb in (["status", "--over", "10ms"], ["owners"], ["outbox", "list", "--table", "orders"]):
            self.assertIn("orders", self.over_daemon(*verb).stdout)

    def test_acts_act_and_are_audited_under_the_key(self):
        for name in ("N1", "N2", "N3"):
            self.write(name, "nowhere.v1")
            self.until(name, "dead")
        moved = self.json("dead", "quarantine", "N1", "N2", "--note", "later", "--yes")
        self.assertEqual([one["moved"] for one in moved["results"]], [True, True])
        self.assertEqual(self.same("outbox", "list", "--table", "orders", "--state", "quarantined")["next"], None)
        self.assertEqual(self.same("dead", "replay", "--all", "--dry-run", "--table", "orders")["matched"], 1)
        # Pending again, and dead once more.
        self.assertTrue(self.json("dead", "release", "N1", "--yes")["results"][0]["moved"])
        self.assertTrue(self.json("dead", "replay", "N2", "--yes")["results"][0]["moved"])
        self.until("N1", "dead")
        self.until("N2", "dead")
        job = self.json("dead", "replay", "--all", "--table", "orders", "--yes", "--rate", "100/s")
        self.assertEqual((job["state"], job["replayed"], job["rate_max"]), ("finished", 3, 100))
        self.same("replay", "show", "1", "--table", "orders")
        self.assertEqual(self.complaint("replay", "resume", "1", "--table", "orders"),
                         self.on_store("replay", "resume", "1", "--table", "orders").stderr)  # fmt: skip
        self.until("N1", "dead")
        self.json("dead", "quarantine", "N1", "--note", "gone soon", "--yes")
        purge = ["purge", "--table", "orders", "--state", "quarantined", "--older-than", "0"]
        self.assertEqual(self.same(*purge, "--dry-run")["rows"], 1)
        self.assertEqual(self.json(*purge, "--yes")["rows"], 1)
        for verb in ("pause", "resume"):
            pause = [verb, "--table", "orders", "--topic", "nowhere.v1"]
            self.assertTrue(self.json(*pause)["changed"])
            self.assertFalse(self.same(*pause)["changed"])
        lines = [json.loads(line) for line in self.over_daemon("audit", "export").stdout.splitlines()]
        actors = {line["actor"] for line in lines if line["kind"] == "Quarantined"}
        self.assertTrue(actors and all(actor.endswith("(boss)") for actor in actors), lines)
        self.same("audit", "verify")

    def test_explain_names_what_only_the_daemon_knows(self):
        self.write("D1", "down.it.is.v1")
        texts = self.whys("D1", "target_down")
        self.assertRegex(texts["target_down"], r"target http://127\.0\.0\.1:\d+/hook, down for .*, next try ")
        status = self.over_daemon("status", "--over", "10ms").stdout
        self.assertRegex(status, r"! target http://127\.0\.0\.1:\d+/hook is down for .*no attempt is spent")
        targets = {one["target"]: one["down"] for one in self.json("status", "--over", "10ms")["destinations"]}
        self.assertEqual(sorted(targets.values()), [False, False, True])
        self.write("B1", "limited.a.v1")
        self.until("B1", "done")
        self.write("B2", "limited.a.v1")
        self.assertIn("budget of its route is reached", self.whys("B2", "over_limit")["over_limit"])
        self.write("N1", "nowhere.v1", *LATER)
        self.assertIn('an owner that knows topic "nowhere.v1"', self.whys("N1", "not_due", "no_route")["no_route"])
        self.write("N2", "elsewhere.v1")
        waits = self.whys("N2", "no_route")["no_route"]
        self.assertRegex(waits, r'an owner that knows topic "elsewhere.v1": .* no attempt is spent, and it is dead in ')
        self.assertIn("add a route for its topic", self.over_daemon("explain", "N2").stdout)
        told = r'topic "elsewhere.v1" has no listener and no route here; its messages wait'
        eventually(lambda: "a finding", lambda: told in self.over_daemon("status", "--over", "10ms").stdout)
        doctor = self.json("doctor", code=1)
        self.assertTrue(any("is down for" in finding["what"] for finding in doctor["findings"]), doctor)

    def test_wrong_use_and_errors_are_those_of_a_store(self):
        for arguments, code in [
            (["outbox", "show", "NOBODY"], 1),
            (["explain", "NOBODY", "--table", "orders"], 1),
            (["outbox", "list", "--table", "nowhere"], 2),
            (["outbox", "list"], 2),
            (["outbox", "enqueue", "--table", "orders", "--topic", "t", "--payload", '1,"topic":"x"'], 2),
            (["replay", "--from", "9", "--to", "8", "--table", "orders", "--dry-run"], 2),
            (["purge", "--older-than", "1d", "--state", "pending", "--table", "orders"], 2),
        ]:
            with self.subTest(arguments=arguments):
                store = self.on_store(*arguments)
                daemon = self.over_daemon(*arguments)
                self.assertEqual((daemon.returncode, store.returncode), (code, code), daemon.stderr + store.stderr)
                self.assertEqual(
                    daemon.stderr.replace(self.url, "HERE"),
                    re.sub(r"sqlite:\S*orders\.db", "HERE", store.stderr),
                )

    def test_keys_decide_what_one_may(self):
        self.assertIn("AUTH.DENIED", self.complaint("pause", "--table", "orders", key="reader"))
        self.assertIn("needs the role operate", self.complaint("pause", "--table", "orders", key="reader"))
        self.json("status", "--over", "10ms", key="reader")
        nobody = self.sagabox("status", "--server", self.url)
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("asks for a key; give it with --key-file FILE or in SAGABOX_KEY", nobody.stderr)
        unknown = self.sagabox("status", "--server", self.url, SAGABOX_KEY="sbx_AAAAAAAA_" + "A" * 40)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("this key is not known", unknown.stderr)
        by_variables = self.sagabox(
            "outbox", "list", "--table", "orders",
            SAGABOX_SERVER=self.url, SAGABOX_KEY=(self.folder / "reader.key").read_text(),
        )  # fmt: skip
        self.assertEqual(by_variables.returncode, 0, by_variables.stderr)
        for broken in ("", "two words", "whsec_x"):
            (self.folder / "broken.key").write_text(broken)
            self.assertIn("that is not a key", self.complaint("status", key="broken", code=2))
        self.assertIn("cannot read missing.key", self.complaint("status", key="missing", code=2))

    def test_a_bound_key_sees_and_writes_its_tenant_only(self):
        self.write("A1", "orders.order.placed.v1", *LATER, key="acme")
        self.write("M1", "orders.order.placed.v1", *LATER)
        rows = self.json("outbox", "list", "--table", "orders", key="acme")["messages"]
        self.assertEqual([(row["id"], row["tenant"]) for row in rows], [("A1", "acme")])
        self.assertEqual(self.json("explain", "A1", key="acme")["reasons"][0]["why"], "not_due")
        self.assertIn("there is no message M1", self.complaint("outbox", "show", "M1", key="acme"))
        self.assertIn("AUTH.DENIED", self.complaint("status", key="acme"))
        self.assertIn("may not see payloads", self.complaint("outbox", "show", "A1", "--payload", key="acme"))
        refused = ["outbox", "enqueue", "--table", "orders", "--topic", "t", "--payload", "1", "--tenant", "other"]
        self.assertIn("AUTH.DENIED", self.complaint(*refused, key="acme"))


class Afar(DaemonTestCase, unittest.TestCase):
    """What answers is no daemon, or nothing does."""

    def ask(self, *arguments, **environment):
        result = self.sagabox(*arguments, **environment)
        self.assertEqual(result.stdout, "")
        return result.returncode, result.stderr

    def test_nobody_is_there(self):
        code, text = self.ask("status", "--server", f"http://127.0.0.1:{self.closed.getsockname()[1]}")
        self.assertEqual(code, 1)
        self.assertIn("PROVIDER.UNAVAILABLE: cannot reach http://127.0.0.1:", text)
        self.assertIn("is the daemon running there?", text)

    def test_one_of_store_and_server(self):
        code, text = self.ask("status", "--server", "http://127.0.0.1:1", "--store", "sqlite:x.db")
        self.assertEqual(code, 2)
        self.assertIn("--store and --server do not go together", text)
        code, text = self.ask("status", "--store", "sqlite:x.db", SAGABOX_SERVER="http://127.0.0.1:1")
        self.assertEqual((code, "there is no file x.db" in text), (2, True), text)
        for url in ("127.0.0.1:8700", "ftp://host", "http://user:pw@host", "postgres://user:pw@host/db",
                    "http://host/?a", "http://"):  # fmt: skip
            code, text = self.ask("status", "--server", url)
            self.assertEqual(code, 2, text)
            self.assertNotIn("pw", text)
        for arguments in (["--actor", "ann"], ["--schema", "other"]):
            code, text = self.ask("status", "--server", "http://127.0.0.1:1", *arguments)
            self.assertEqual((code, "is for --store" in text), (2, True), text)
        code, text = self.ask("status", "--store", "sqlite:x.db", "--ca", "x.pem")
        self.assertEqual((code, "are for --server" in text), (2, True), text)
        for verb in (["migrate", "status"], ["key", "list"]):
            self.assertEqual(self.ask(*verb, "--server", "http://127.0.0.1:1")[0], 2)

    def listen(self, answers):
        """A server that says what `answers` has for a path; None: hangs up; "silence": says nothing."""
        asked = []
        over = threading.Event()
        self.addCleanup(over.set)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked.append(self.command + " " + self.path)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                said = answers.get(self.path, (404, "text/html", "<p>not here</p>"))
                if said == "silence":
                    over.wait(PATIENCE)
                if said in (None, "silence"):
                    self.close_connection = True
                    return
                status, kind, body = said
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}", asked

    STORES = (200, "application/json", '{"stores":[{"store":"a","current":true,"tables":["orders"],"new":1}]}')

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_a_certificate_is_checked(self):
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=sagabox", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "tls.key", "-out", "tls.pem"],
            cwd=self.folder, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stderr)
        self.serve("tls: { certificate_file: tls.pem, key_file: tls.key }\n")
        self.assertTrue(self.url.startswith("https://"))
        self.assertIn("--ca FILE names who signed its certificate", self.complaint("owners"))
        self.json("owners", "--ca", "tls.pem")
        plain = self.sagabox("owners", "--server", self.url.replace("https", "http"), "--key-file", "boss.key")
        self.assertEqual(plain.returncode, 1, plain.stdout)

    def test_who_says_nothing_is_not_waited_for_without_end(self):
        url, _ = self.listen({"/v1/stores": self.STORES, "/v1/tables/orders/pause": "silence"})
        code, text = self.ask("pause", "--server", url, "--timeout", "10s")
        self.assertEqual((code, "STORAGE.IN_DOUBT" in text), (1, True), text)
        url, _ = self.listen({"/v1/stores": "silence"})
        code, text = self.ask("owners", "--server", url, "--timeout", "2s")
        self.assertEqual((code, "TX.TIMEOUT" in text, "--timeout waits longer" in text), (1, True, True), text)

    def test_an_act_whose_answer_is_lost_is_sent_once_and_in_doubt(self):
        url, asked = self.listen({"/v1/stores": self.STORES, "/v1/tables/orders/pause": None})
        code, text = self.ask("pause", "--server", url)
        self.assertEqual(code, 1)
        self.assertIn("STORAGE.IN_DOUBT", text)
        self.assertIn("it may have happened: look before you do it again", text)
        self.assertEqual(asked.count("POST /v1/tables/orders/pause"), 1, asked)

    def test_a_gateway_that_gives_up_on_an_act_leaves_it_in_doubt(self):
        gone = (504, "text/html", "<p>gateway timeout</p>")
        url, _ = self.listen({"/v1/stores": self.STORES, "/v1/tables/orders/pause": gone})
        self.assertIn("STORAGE.IN_DOUBT", self.ask("pause", "--server", url)[1])

    def test_what_is_no_daemon_is_told_from_one(self):
        moved = (302, "text/html", "")
        for said in ((200, "text/html", "<p>hello</p>"), (404, "text/plain", "no"), moved):
            url, _ = self.listen({"/v1/stores": said})
            code, text = self.ask("status", "--server", url)
            self.assertEqual(code, 1)
            self.assertIn(f"{url} is not a sagabox daemon: it answered /v1/stores with {said[0]}", text)
        url, _ = self.listen({"/v1/stores": (200, "application/json", '{"stores":[{"store":7}]}')})
        code, text = self.ask("status", "--server", url)
        self.assertEqual(code, 1)
        self.assertIn("is not understood: stores[0].store: is a number", text)


if __name__ == "__main__":
    unittest.main()
