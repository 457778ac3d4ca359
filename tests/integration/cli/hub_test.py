#!/usr/bin/env python3
"""The delivery hub from the command line, on a file and over a daemon.

usage: hub_test.py SAGABOX [unittest arguments]
"""

import http.server
import json
import re
import subprocess
import threading
import unittest
from pathlib import Path

from daemon_folder import CLEAN, PATIENCE, SAGABOX, FolderTestCase, eventually

README = Path(__file__).resolve().parents[3] / "README.md"

KEY = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
TARGET = "https://hooks.example.com/shop?token=hunter2"

CONFIG = """stores:
  default: { url: "sqlite:sagabox.db" }
hub: { enabled: true, secret_key_file: hub.key }
transports: { http: { allow: [127.0.0.1] } }
"""


class Receiver:
    """An endpoint that answers challenges, unless it is stubborn."""

    def __init__(self):
        self.stubborn = False
        self.calls = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                receiver.calls.append({name.lower(): value for name, value in self.headers.items()})
                answer = json.dumps({"challenge": body.get("challenge")}).encode()
                self.send_response(404 if receiver.stubborn else 200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hooks"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HubVerbs(FolderTestCase):
    def setUp(self):
        super().setUp()
        made = self.sagabox("migrate", "up", "--store", "sqlite:sagabox.db")
        self.assertEqual(made.returncode, 0, made.stderr)
        (self.folder / "hub.key").write_text(KEY + "\n", encoding="utf-8")
        self.over = ()

    def run_verb(self, *arguments, code=0, **environment):
        result = self.sagabox(*arguments, *self.over, **environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def json_of(self, *arguments, code=0):
        return json.loads(self.run_verb(*arguments, "--json", code=code).stdout)

    def add(self, *arguments, target=TARGET, code=0):
        key = () if self.over else ("--secret-key-file", "hub.key")
        return self.run_verb("subscription", "add", target, "--type", "shop.order.*.v1", *key, *arguments, code=code)

    def added(self, *arguments, target=TARGET):
        return json.loads(self.add(*arguments, "--json", target=target).stdout)

    def serve_hub(self):
        self.config.write_text(CONFIG, encoding="utf-8")
        self.serve("--config", "sagabox.yaml")
        self.over = ("--server", f"http://{self.address()}")

    def make_tables(self):
        """A daemon with a hub does."""
        self.serve_hub()
        self.stop()
        self.over = ()

    def publish(self, *arguments, code=0):
        return self.run_verb("event", "publish", "shop.order.placed.v1", *arguments, code=code)

    def check_events(self):
        """The same on a store and over a daemon."""
        first = self.json_of(
            "event", "publish", "shop.order.placed.v1", "--payload", '{"order": 17}',
            "--source", "erp", "--external-id", "17", "--key", "c-1", "--header", "a: b",
        )  # fmt: skip
        self.assertFalse(first["duplicate"])
        again = self.publish("--payload", '{"order": 17}', "--source", "erp", "--external-id", "17")
        self.assertIn("it was there already", again.stdout)
        other = self.publish("--payload", '{"order": 18}', "--source", "erp", "--external-id", "17", code=1)
        self.assertIn("TX.IDEMPOTENT_MISMATCH", other.stderr)
        self.assertIn("payload", self.publish("--payload", "{", code=2).stderr)
        self.assertIn("give the payload", self.publish(code=2).stderr)
        events = self.json_of("event", "list", "--source", "erp")["events"]
        self.assertEqual([one["id"] for one in events], [first["id"]])
        self.assertEqual(self.json_of("event", "list", "--until", "1d")["events"], [])
        shown = self.run_verb("event", "show", first["id"]).stdout
        self.assertIn("shop.order.placed.v1 · published", shown)
        self.assertNotIn("order\"", shown)
        full = self.json_of("event", "show", first["id"], "--payload")
        self.assertEqual((full["payload"], full["headers"]), ({"order": 17}, {"a": "b"}))
        self.assertIn("there is no event nobody", self.run_verb("event", "show", "nobody", code=1).stderr)

    def check_subscriptions(self):
        text = self.add("--name", "shop", "--header", "authorization: Bearer hunter2", "--order", "key").stdout
        self.assertRegex(text, r"(?s)subscription \S+ is unverified\nsecret whsec_\S+\n.*sagabox subscription verify ")
        one = re.search(r"subscription (\S+) is", text).group(1)
        secret = re.search(r"whsec_\S+", text).group(0)
        for verb in (("show", one), ("list",)):
            shown = self.run_verb("subscription", *verb).stdout
            self.assertNotIn("hunter2", shown)
            self.assertNotIn(secret, shown)
        full = self.json_of("subscription", "show", one, "--payload")
        self.assertEqual(full["settings"]["headers"], {"authorization": "Bearer hunter2"})
        self.assertEqual(full["target"], TARGET)

        wrong = self.add("--filter", '{"a": {"gtt": 1}}', code=2)
        self.assertIn("settings.filter.a.gtt: is ", wrong.stderr)
        self.assertIn("has no scheme", self.add(target="hooks.example.com", code=2).stderr)
        self.assertIn("--filter: is not JSON", self.add("--filter", "{", code=2).stderr)
        self.assertIn("--settings has all", self.add("--settings", "{}", "--order", "key", code=2).stderr)

        active = self.added("--no-proof", "--name", "second")
        self.assertEqual(active["state"], "active")
        two = active["id"]
        self.assertEqual(self.json_of("subscription", "pause", two, "--note", "their release")["reason"], "their release")
        refused = self.run_verb("subscription", "enable", two, code=1)
        self.assertIn("is paused and cannot be enabled; resume it first", refused.stderr)
        self.assertIn("is active", self.run_verb("subscription", "resume", two).stdout)
        changed = self.json_of("subscription", "change", two, "--type", "shop.**", "--name", "other")
        self.assertEqual((changed["types"], changed["name"]), (["shop.**"], "other"))
        late = self.run_verb("subscription", "change", two, "--name", "late", "--if-version", "1", code=1)
        self.assertIn("STORAGE.CONFLICT", late.stderr)
        self.assertIn("what is to change?", self.run_verb("subscription", "change", two, code=2).stderr)
        listed = self.json_of("subscription", "list", "--state", "active")["subscriptions"]
        self.assertEqual([found["id"] for found in listed], [two])
        health = self.run_verb("subscription", "health", two).stdout
        self.assertIn("none in 1d", health)
        late = self.run_verb("subscription", "health", two, "--since", "1000d", code=2)
        self.assertIn("--since: 1000d", late.stderr)
        self.assertIn("nobody can be asked", self.run_verb("subscription", "disable", two, code=2).stderr)
        self.assertIn("is disabled", self.run_verb("subscription", "disable", two, "--yes").stdout)
        self.assertIn("there is no subscription", self.run_verb("subscription", "show", "nobody", code=1).stderr)
        return one

    def check_deliveries(self):
        self.assertIn("no delivery", self.run_verb("delivery", "list").stdout)
        self.assertIn("no delivery", self.run_verb("dead", "list", "--kind", "delivery").stdout)
        self.assertEqual(self.json_of("delivery", "count")["counts"], [])
        for verb in ("show", "explain"):
            missing = self.run_verb("delivery", verb, "d" + 32 * "0", code=1)
            self.assertIn("there is no delivery", missing.stderr)
        self.assertIn("which deliveries?", self.run_verb("delivery", "requeue", code=2).stderr)
        both = self.run_verb("delivery", "requeue", "d1", "--since", "2h", code=2)
        self.assertIn("do not go together", both.stderr)
        self.assertIn("no dead delivery fits", self.run_verb("delivery", "requeue", "--all", "--yes").stdout)
        self.assertEqual(self.json_of("delivery", "requeue", "--since", "2h", "--yes")["requeued"], 0)
        stays = self.run_verb("dead", "quarantine", "--kind", "delivery", "d1", "--note", "n", code=2)
        self.assertIn("it can only be requeued", stays.stderr)

    def test_events(self):
        self.make_tables()
        self.check_events()

    def test_subscriptions(self):
        self.make_tables()
        self.check_subscriptions()
        keyless = self.run_verb("subscription", "add", TARGET, "--type", "**", code=1).stderr
        self.assertIn("--secret-key-file FILE", keyless)
        self.assertIn("--server URL", keyless)
        wrong = self.run_verb("subscription", "add", TARGET, "--type", "**", code=1, SAGABOX_HUB_SECRET_KEY="k1:abc")
        self.assertNotIn("k1:abc", wrong.stderr)

    def test_deliveries(self):
        self.make_tables()
        self.check_deliveries()

    def test_the_same_over_a_daemon(self):
        self.serve_hub()
        self.check_events()
        self.check_subscriptions()
        self.check_deliveries()

    def test_an_endpoint_proves_itself_and_secrets_rotate(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.serve_hub()
        made = self.added("--name", "shop", target=receiver.url)
        self.assertEqual(made["state"], "unverified")
        receiver.stubborn = True
        refused = self.run_verb("subscription", "verify", made["id"], code=1)
        self.assertIn("failed  404", refused.stdout)
        receiver.stubborn = False
        verified = self.run_verb("subscription", "verify", made["id"]).stdout
        self.assertIn("answered  200", verified)
        self.assertIn("is active", verified)
        self.assertEqual(len(receiver.calls[-1]["webhook-signature"].split()), 1)
        rotated = self.json_of("subscription", "rotate-secret", made["id"], "--overlap", "1h")
        self.assertNotEqual(rotated["secret"], made["secret"]["secret"])
        self.assertIn("answered  200", self.run_verb("subscription", "ping", made["id"]).stdout)
        self.assertEqual(len(receiver.calls[-1]["webhook-signature"].split()), 2, "both while one replaces the other")
        kinds = [json.loads(line)["kind"] for line in self.run_verb("audit", "export").stdout.splitlines()]
        self.assertEqual(kinds.count("HubSecretCreated"), 2)
        self.assertIn("HubSubscriptionVerified", kinds)
        self.assertNotIn("whsec_", self.run_verb("audit", "export").stdout)

    def test_an_event_reaches_its_endpoint_and_a_dead_delivery_goes_again(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.serve_hub()
        made = self.added("--settings", '{"retry": {"waits": []}}', target=receiver.url)
        self.run_verb("subscription", "verify", made["id"])
        asked = len(receiver.calls)
        event = self.json_of("event", "publish", "shop.order.placed.v1", "--payload", '{"order": 17}')["id"]
        eventually("it should be told", lambda: len(receiver.calls) > asked)
        self.assertEqual(receiver.calls[-1]["webhook-id"], event)
        self.eventually_in(made["id"], "completed")

        receiver.stubborn = True
        self.publish("--payload", '{"order": 18}')
        dead = self.eventually_in(made["id"], "dead")
        counts = self.json_of("delivery", "count")["counts"]
        self.assertEqual([(one["state"], one["deliveries"]) for one in counts], [("dead", 1)])
        shown = self.run_verb("delivery", "show", dead).stdout
        self.assertRegex(shown, r"✗  1  \S+  \d+ ms  404")
        self.assertIn("attempt 1 was the last", self.run_verb("explain", dead).stdout)
        self.assertIn("404", self.run_verb("subscription", "health", made["id"]).stdout)
        self.assertIn("1 dead delivery: sagabox dead list --kind delivery", self.run_verb("dead", "list").stdout)
        self.assertNotIn("dead delivery", self.run_verb("dead", "list", "--topic", "shop.**").stdout)
        preview = self.run_verb("delivery", "requeue", "--subscription", made["id"], "--since", "1h", "--dry-run").stdout
        self.assertIn("1 delivery would be sent again", preview)
        receiver.stubborn = False
        again = self.run_verb("dead", "replay", "--kind", "delivery", "--since", "1h", "--yes").stdout
        self.assertIn("1 delivery requeued", again)
        eventually("both should be completed", lambda: len(self.in_state(made["id"], "completed")) == 2)
        self.assertEqual(self.in_state(made["id"], "dead"), [dead], "what is dead stays so")
        self.assertIn("it was requeued as", self.run_verb("explain", dead).stdout)

    def in_state(self, subscription, state):
        found = self.json_of("delivery", "list", "--subscription", subscription, "--state", state)
        return [one["id"] for one in found["deliveries"]]

    def eventually_in(self, subscription, state):
        return eventually(f"a delivery should be {state}", lambda: self.in_state(subscription, state))[0]

    def test_a_subscription_is_explained(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.serve_hub()
        one = self.added(target=receiver.url)["id"]
        self.assertIn("waits for: its endpoint to prove itself", self.run_verb("explain", one).stdout)
        self.run_verb("subscription", "verify", one)
        explained = self.run_verb("explain", one).stdout
        self.assertIn("because:   no delivery waits", explained)
        self.assertRegex(explained, r"owner:     \S+, lease ")
        self.run_verb("subscription", "pause", one, "--note", "their release")
        explained = self.json_of("explain", one)
        self.assertEqual([reason["why"] for reason in explained["reasons"]], ["paused"])
        self.assertEqual(explained["next"], f"sagabox subscription resume {one}")
        self.run_verb("subscription", "resume", one)

        receiver.close()
        for number in range(3):
            self.publish("--payload", str(number))
        def why():
            return [reason["why"] for reason in self.json_of("explain", one)["reasons"]]
        eventually("its endpoint should be down", lambda: "endpoint_down" in why())
        self.assertIn("waits for: its endpoint, which has been down for", self.run_verb("explain", one).stdout)
        event = self.json_of("event", "publish", "shop.order.placed.v1", "--payload", "9")["id"]
        eventually("it should have a delivery", lambda: self.json_of("explain", event)["deliveries"])
        self.assertIn("an event of the hub: explain one of its deliveries", self.run_verb("explain", event).stdout)
        unwanted = self.json_of("event", "publish", "other.v1", "--payload", "1")["id"]
        self.assertIn("without a delivery", self.run_verb("explain", unwanted).stdout)
        self.over = ()
        self.assertIn("4 open", self.run_verb("explain", one).stdout, "a store knows the rest")
        self.assertIn("there is no message nobody", self.run_verb("explain", "nobody", code=1).stderr)

    def test_an_endpoint_that_is_refused_says_how_to_allow_it(self):
        self.serve_hub()
        refused = self.add(target="https://10.1.2.3/hooks", code=2).stderr
        self.assertIn("10.1.2.3 (private network)", refused)
        self.assertIn('in YAML: transports: { http: { allow: ["10.1.2.3"] } }', refused)

    def test_a_key_is_made_once(self):
        made = self.run_verb("hub", "key", "--out", "new.key")
        self.assertIn("hub.secret_key_file", made.stdout)
        key = self.folder / "new.key"
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        text = key.read_text()
        self.assertRegex(text, r"^k1:[A-Za-z0-9+/]{43}=\n$")
        self.assertNotIn(text.strip(), made.stdout)
        again = self.run_verb("hub", "key", "--out", "new.key", code=1)
        self.assertIn("is there already, and stays", again.stderr)
        self.assertEqual(key.read_text(), text)
        self.run_verb("hub", "key", "--out", "next.key", "--id", "k2")
        self.assertTrue((self.folder / "next.key").read_text().startswith("k2:"))
        self.assertIn("--id: ", self.run_verb("hub", "key", "--out", "x.key", "--id", "k 2", code=2).stderr)
        self.assertIn("--out", self.run_verb("hub", "key", code=2).stderr)
        missing = self.run_verb("hub", "key", "--out", "nowhere/x.key", code=1)
        self.assertIn("cannot write nowhere/x.key", missing.stderr)

    def test_a_key_is_replaced(self):
        self.make_tables()
        made = self.added()
        self.run_verb("hub", "key", "--out", "next.key", "--id", "k2")
        both = (self.folder / "next.key").read_text() + (self.folder / "hub.key").read_text()
        (self.folder / "both.key").write_text(both, encoding="utf-8")

        def reseal(*arguments, key="both.key", code=0):
            return self.run_verb("hub", "reseal", "--secret-key-file", key, *arguments, code=code).stdout

        self.assertIn("1 secret, 1 would be sealed again", reseal("--dry-run"))
        self.assertIn("1 secret, 1 sealed again: all of them are sealed by the first key", reseal())
        self.assertIn("1 secret, 0 sealed again", reseal(key="next.key"))
        lost = reseal(key="hub.key", code=1)
        self.assertIn("1 secret cannot be opened by these keys", lost)
        self.assertIn(made["id"], lost)
        counted = json.loads(reseal("--json", key="next.key"))
        self.assertEqual(counted, {"secrets": 1, "current": 1, "resealed": 0, "unreadable": 0, "dry_run": False})

    def test_the_doctor_looks_at_the_hub(self):
        self.make_tables()
        self.publish("--payload", '{"order":17}')
        found = self.run_verb("doctor", code=1).stdout
        self.assertRegex(found, r"1 event is not routed, the oldest for \S+: no process has the role router")

    def test_a_daemon_says_that_it_has_a_hub(self):
        self.serve_hub()
        self.assertIn(" · hub with 0 subscriptions\n", self.said("out"))
        self.added("--name", "shop")
        self.stop()
        self.config.write_text(CONFIG.replace("enabled: true", "enabled: true, roles: [router, worker]"), encoding="utf-8")
        self.serve("--config", "sagabox.yaml")
        self.wait_for("out", r" · hub \(router, worker\) with 1 subscription\n")

    def test_a_daemon_without_a_hub_says_so(self):
        self.serve()
        self.over = ("--server", f"http://{self.address()}")
        self.assertIn("set hub.enabled", self.run_verb("event", "list", code=1).stderr)


class FirstWebhook(FolderTestCase):
    def test_the_five_commands_of_the_readme_work_as_printed(self):
        section = re.search(r"^## A first webhook\n.*?^```\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
        make_key, serve, add, publish, look = section.group(1).splitlines()
        receiver = Receiver()
        self.addCleanup(receiver.close)
        environment = {**CLEAN, "PATH": f"{Path(SAGABOX).parent}:{CLEAN['PATH']}"}

        def typed(line):
            line = line.replace("http://127.0.0.1:9000/hooks", receiver.url)
            result = subprocess.run(
                ["bash", "-c", line.replace("127.0.0.1:8700", self.address() if self.daemon else "")],
                cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE,
            )  # fmt: skip
            self.assertEqual((result.returncode, result.stderr), (0, ""), line)
            return result.stdout

        typed(make_key)
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.daemon = subprocess.Popen(
                ["bash", "-c", f"exec env {serve}"],
                cwd=self.folder, env={**environment, "SAGABOX_LISTEN": "127.0.0.1:0"}, stdout=out, stderr=err,
            )  # fmt: skip
        self.wait_for("out", r"shards? owned")
        self.assertRegex(typed(add), r"is active\nsecret whsec_")
        event = re.search(r"\w{26}", typed(publish)).group(0)
        eventually("the endpoint should be told", lambda: receiver.calls)
        self.assertEqual(receiver.calls[0]["webhook-id"], event)
        eventually("the delivery should be completed", lambda: re.search(r"completed\s+shop\.order\.placed", typed(look)))
        self.stop()


if __name__ == "__main__":
    unittest.main()
