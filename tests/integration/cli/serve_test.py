#!/usr/bin/env python3
"""`sagabox serve` and `sagabox config` as one meets them: a first minute without a configuration,
files that change, signals, and what is said when something is wrong.

usage: serve_test.py SAGABOX [unittest arguments]
"""

import http.client
import json
import re
import resource
import signal
import socket
import ssl
import subprocess
import unittest
from pathlib import Path

from daemon_folder import CLEAN, PATIENCE, SAGABOX, FolderTestCase, eventually

README = Path(__file__).resolve().parents[3] / "README.md"
ROUTED = """\
demo: true
stores:
  orders: {{ url: "sqlite:orders.db", tables: [orders] }}
routes:
  - topic: "**"
    to: "file:{target}"
"""


class Serve(FolderTestCase):
    def test_without_a_configuration_shows_what_it_delivers(self):
        self.serve("--demo")
        self.wait_for("out", r"try: .*\n")
        first, second = self.said("out").splitlines()[:2]
        self.assertRegex(
            first, r"^sagabox [\d.]+ · store sqlite:.*sagabox\.db · http://127\.0\.0\.1:\d+ · 1 table, 1 shard owned$"
        )
        self.assertTrue(second.startswith("try:  curl -d '{\"topic\":"), second)
        self.wait_for("out", r"\d\d:\d\d:\d\d delivered demo\.hello\.said\.v1 \w{26} attempt 1 in [\d.]+ ms\n")
        self.stop()
        self.assertTrue((self.folder / "sagabox.db").exists())
        self.assertEqual(self.said("err"), "")

    def test_the_lines_of_the_readme_work_as_written(self):
        self.serve()
        address = self.address()
        lines = re.findall(r"^curl .*$", README.read_text(), re.M)
        self.assertEqual(len(lines), 6, "those of the section on the daemon")

        def answer(line):
            typed = line.replace("127.0.0.1:8700", address).replace("curl", "curl -s -f", 1)
            return subprocess.run(
                ["bash", "-c", typed], capture_output=True, text=True, check=False, timeout=PATIENCE
            ).stdout

        self.assertIn('"sequence"', answer(lines[0]))
        self.wait_for("out", r"delivered demo.hello.said.v1")
        self.assertIn('"id":"oops-1"', answer(lines[1]))
        eventually("a dead letter", lambda: '"id":"oops-1"' in answer(lines[2]))
        self.assertIn("dead", answer(lines[3]))
        self.assertTrue(answer(lines[4]))
        eventually("the replayed one is done", lambda: '"state":"done"' in answer(lines[5]))
        self.stop()

    def test_delivers_into_a_file_and_goes_on_after_a_restart(self):
        self.config.write_text(ROUTED.format(target="first"))
        self.serve()
        self.wait_for("first", "demo.hello", times=2)
        self.stop()
        before = self.said("first").splitlines()
        self.serve()
        self.wait_for("first", "demo.hello", times=len(before) + 1)
        self.stop()
        events = [json.loads(line) for line in self.said("first").splitlines()]
        self.assertEqual(len({event["id"] for event in events}), len(events))

    def test_hangup_takes_a_good_file_and_refuses_a_broken_one(self):
        self.config.write_text(ROUTED.format(target="first") + "watch: false\n")
        self.serve("--config", "sagabox.yaml")
        self.wait_for("first", "demo.hello")
        self.config.write_text(ROUTED.format(target="second") + "watch: false\nmetrics: { prefix: other_ }\n")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for("second", "demo.hello")
        self.wait_for("err", r'"configuration was read again" changed="?routes\[0\]\.to\[0\]\.address')
        self.wait_for("err", r'"a changed setting needs a restart" settings=metrics.prefix')
        self.config.write_text(ROUTED.format(target="third") + "retenton: 7d\n")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for("err", r'"configuration was not taken; the one before stays" problem="sagabox\.yaml:7: unknown key')
        self.wait_for("second", "demo.hello", times=self.said("second").count("demo.hello") + 2)
        self.assertFalse((self.folder / "third").exists())
        self.stop()

    def test_a_changed_file_is_read_again_by_itself(self):
        self.config.write_text(ROUTED.format(target="first"))
        self.serve()
        self.wait_for("first", "demo.hello")
        self.config.write_text(ROUTED.format(target="another"))
        self.wait_for("another", "demo.hello")
        self.stop()

    def test_a_payload_that_does_not_fit_the_schema_of_its_route_is_refused_over_rest(self):
        (self.folder / "placed.json").write_text('{"type": "object", "required": ["order"]}')
        routes = ROUTED.format(target="first").replace(
            'routes:\n', 'routes:\n  - { topic: "shop.*.placed.v1", to: "file:placed", schema_file: placed.json }\n'
        )
        self.config.write_text(routes.replace("demo: true\n", ""))
        self.serve()
        connection = http.client.HTTPConnection(self.address(), timeout=PATIENCE)
        self.addCleanup(connection.close)

        def write(payload):
            connection.request("POST", "/v1/messages", '{"topic":"shop.order.placed.v1","payload":%s}' % payload)
            response = connection.getresponse()
            return response.status, response.read().decode()

        status, problem = write('{"ordr":17}')
        self.assertEqual(status, 400, problem)
        self.assertIn("SCHEMA.VALIDATION_FAILED", problem)
        self.assertEqual(write('{"order":17}')[0], 201)
        self.wait_for("placed", '"order":17')
        self.stop()

    def test_ctrl_c_ends_it_well_too(self):
        self.serve()
        self.daemon.send_signal(signal.SIGINT)
        self.assertEqual(self.daemon.wait(PATIENCE), 0, self.said("err"))

    def test_systemd_is_told(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(PATIENCE)
            self.serve(NOTIFY_SOCKET=path)
            first = manager.recv(1024)
            self.stop()
            told = {first}
            manager.settimeout(0)
            try:
                while True:
                    told.add(manager.recv(1024))
            except BlockingIOError:
                pass
        if not told & {b"READY=1"}:
            self.skipTest("this build is without libsystemd")
        self.assertEqual(first, b"READY=1")
        self.assertIn(b"STOPPING=1", told)

    def test_the_watchdog_is_fed_while_a_reload_waits_for_a_send(self):
        path = str(self.folder / "notify")
        slow = """\
stores: {{ main: {{ url: "memory:" }} }}
routes: [ {{ topic: "**", to: "http://127.0.0.1:{port}/", timeout: {timeout} }} ]
transports: {{ http: {{ allow: ["127.0.0.1"] }} }}
demo: true
watch: false
"""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket() as target:
            manager.bind(path)
            manager.settimeout(PATIENCE)
            target.bind(("127.0.0.1", 0))
            target.listen()
            target.settimeout(PATIENCE)
            port = target.getsockname()[1]
            self.config.write_text(slow.format(port=port, timeout="1h"))
            self.serve(NOTIFY_SOCKET=path)
            if manager.recv(1024) != b"READY=1":
                self.skipTest("this build is without libsystemd")
            receiver, _ = target.accept()  # and says nothing: the send is under way
            self.config.write_text(slow.format(port=port, timeout="2h"))
            self.daemon.send_signal(signal.SIGHUP)
            while manager.recv(1024) != b"RELOADING=1":
                pass
            self.assertEqual(manager.recv(1024), b"WATCHDOG=1")
            self.assertEqual(manager.recv(1024), b"WATCHDOG=1")
            self.assertNotIn("read again", self.said("err"))
            receiver.close()
            target.close()
            while manager.recv(1024) != b"READY=1":
                pass
        self.daemon.kill()
        self.daemon.wait()

    def test_hangup_takes_a_new_certificate_and_refuses_a_broken_one(self):
        def certificate(name):
            made = subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", f"/CN={name}", "-keyout", "key.pem", "-out", "certificate.pem"],
                cwd=self.folder, capture_output=True, check=False, timeout=PATIENCE,
            )
            self.assertEqual(made.returncode, 0, made.stderr)
            return (self.folder / "certificate.pem").read_text().strip()

        first = certificate("first")
        self.config.write_text(
            ROUTED.format(target="out") + "tls: { certificate_file: certificate.pem, key_file: key.pem }\nwatch: false\n"
        )
        self.serve()
        port = int(re.search(r"https://127\.0\.0\.1:(\d+) ", self.said("out")).group(1))

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", port)).strip()

        self.assertEqual(shown(), first)
        second = certificate("second")
        self.assertEqual(shown(), first)
        self.daemon.send_signal(signal.SIGHUP)
        eventually("the new certificate", lambda: shown() == second)
        (self.folder / "certificate.pem").write_text("nonsense")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for("err", r'"certificate was not taken; the one before stays" problem="TLS file')
        self.assertEqual(shown(), second)
        self.stop()

    def test_a_wrong_configuration_is_exit_code_two_and_a_sentence(self):
        self.config.write_text(ROUTED.format(target="x") + "    retry: { atempts_max: 12 }\n")
        result = self.sagabox("serve", "--config", "sagabox.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(
            result.stderr,
            'sagabox.yaml:7: unknown key "atempts_max" under routes[0].retry; did you mean "attempts_max"?\n',
        )
        self.assertEqual(result.stdout, "")
        for arguments, environment, complaint in [
            (["--config", "nowhere.yaml"], {}, "nowhere.yaml: cannot be read"),
            ([], {"SAGABOX_CONFIG": "nowhere.yaml"}, "nowhere.yaml: cannot be read"),
            ([], {"SAGABOX_RETRY_ATEMPTS_MAX": "3"}, "did you mean SAGABOX_RETRY_ATTEMPTS_MAX?"),
        ]:
            result = self.sagabox("serve", *arguments, **environment)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(complaint, result.stderr)

    def test_a_store_that_cannot_be_opened_is_named_with_its_line(self):
        self.config.write_text(ROUTED.format(target="x").replace("orders.db", "nowhere/orders.db"))
        result = self.sagabox("serve")
        # Not 2, after which systemd does not start it again: the folder may be mounted later.
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("sagabox.yaml:3: stores.orders: cannot open nowhere/orders.db", result.stderr)

    def test_an_address_that_is_taken_is_exit_code_one_and_makes_no_file(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            result = self.sagabox("serve", SAGABOX_LISTEN=f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"sagabox: cannot listen on 127\.0\.0\.1 port \d+: Address already in use")
        self.assertEqual(list(self.folder.glob("*.db*")), [])

    def away(self):
        """A configuration whose store is not there."""
        self.config.write_text(
            ROUTED.format(target="x").replace("sqlite:orders.db", "postgres://127.0.0.1:1/orders")
        )
        if "this build has" in self.sagabox("config", "check").stderr:
            self.skipTest("this build is without PostgreSQL")

    def test_a_server_that_is_not_there_is_exit_code_one_with_fail_fast(self):
        self.away()
        result = self.sagabox("serve", "--fail-fast")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("sagabox.yaml:3: stores.orders: cannot connect", result.stderr)

    def test_a_server_that_is_not_there_is_waited_for_visibly(self):
        self.away()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(self.folder / "err", "ab") as err:
            self.daemon = subprocess.Popen(
                [SAGABOX, "serve"],
                cwd=self.folder,
                env={**CLEAN, "SAGABOX_LISTEN": f"127.0.0.1:{port}"},
                stdout=subprocess.DEVNULL,
                stderr=err,
            )
        self.wait_for("err", r'"a store cannot be reached; it is tried again every second".*stores\.orders')

        def answer(path):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            self.addCleanup(connection.close)
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

        self.assertEqual(answer("/health/live"), (200, {"live": True}))
        status, ready = answer("/health/ready")
        self.assertEqual(status, 503)
        self.assertEqual(ready["tables"][0]["table"], "orders")
        self.assertEqual(ready["tables"][0]["text"], "the daemon waits for its stores")
        status, problem = answer("/v1/tables")
        self.assertEqual((status, problem["code"], problem["retryable"]), (503, "SERVER.BUSY", True))
        self.stop()
        self.assertEqual(len(re.findall("cannot be reached", self.said("err"))), 1)

    def test_the_store_of_the_environment_is_served(self):
        self.serve(SAGABOX_STORE="sqlite:other.db")
        self.stop()
        self.assertTrue((self.folder / "other.db").exists())
        self.assertFalse((self.folder / "sagabox.db").exists())
        printed = self.sagabox("config", "print", SAGABOX_STORE="sqlite:other.db").stdout
        self.assertIn('url: "sqlite:other.db"  # SAGABOX_STORE', printed)

    def test_the_first_line_counts_the_shards_of_all_tables(self):
        self.config.write_text(ROUTED.format(target="x").replace("[orders]", "[orders, billing, returns]"))
        self.serve()
        self.stop()
        self.assertIn("3 tables, 3 shards owned", self.said("out"))

    def test_programs_read_nothing_but_json(self):
        self.config.write_text("log: { format: json }\n" + ROUTED.format(target="x").replace("demo: true\n", ""))
        with open(self.folder / "err", "ab") as err:
            self.daemon = subprocess.Popen(
                [SAGABOX, "serve"],
                cwd=self.folder,
                env={**CLEAN, "SAGABOX_LISTEN": "127.0.0.1:0"},
                stdout=subprocess.PIPE,
                stderr=err,
            )
        self.wait_for("err", r'"event":"sagabox serves"')
        self.stop()
        self.assertEqual(self.daemon.stdout.read(), b"")
        self.daemon.stdout.close()
        lines = [json.loads(line) for line in self.said("err").splitlines()]
        first = next(line for line in lines if line["event"] == "sagabox serves")
        self.assertEqual((first["tables"], first["shards_owned"]), (1, 1))
        self.config.write_text("log: { format: json }\nroutes: [{ topic: t, to: 'gopher:x' }]\n")
        result = self.sagabox("serve")
        self.assertEqual(result.returncode, 2)
        for line in result.stderr.splitlines():
            self.assertIn("gopher", json.loads(line)["problem"])

    def test_what_ends_is_said(self):
        self.serve()
        self.daemon.send_signal(signal.SIGINT)
        self.assertEqual(self.daemon.wait(PATIENCE), 0)
        self.assertTrue(
            self.said("out").endswith(
                "sagabox stopping: what is under way comes to its end\nsagabox stopped: everything has ended\n"
            ),
            self.said("out"),
        )

    def test_files_are_left_for_databases(self):
        files = (600, 600)
        with open(self.folder / "out", "ab") as out, open(self.folder / "err", "ab") as err:
            self.daemon = subprocess.Popen(
                [SAGABOX, "serve"],
                cwd=self.folder,
                env={**CLEAN, "SAGABOX_LISTEN": "127.0.0.1:0"},
                stdout=out,
                stderr=err,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files),
            )
        self.wait_for("out", r"shards? owned")
        self.assertIn("connections_max=344 files_max=600", self.said("err"))
        self.stop()


class Config(FolderTestCase):
    def test_check_says_that_it_is_fine_or_everything_that_is_not(self):
        self.config.write_text(ROUTED.format(target="x"))
        result = self.sagabox("config", "check")
        self.assertEqual(
            (result.returncode, result.stdout), (0, "sagabox.yaml: fine; stores: 1, tables: 1, routes: 1\n")
        )
        self.config.write_text(ROUTED.format(target="x").replace("file:", "gopher:"))
        result = self.sagabox("config", "check", "--config", "sagabox.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r'^sagabox\.yaml:6: routes\[0\]\.to\[0\]: there is no transport "gopher"')
        self.config.write_text("retention: x\nlog: { level: x }\n")
        result = self.sagabox("config", "check")
        self.assertEqual(len(result.stderr.splitlines()), 2, result.stderr)
        self.assertFalse((self.folder / "orders.db").exists())

    def test_check_says_everything_at_once_in_the_order_of_the_lines(self):
        self.config.write_text(
            "stores:\n"
            '  a: { url: "memory:", tables: { orders: {} } }\n'
            '  b: { url: "gopher://x", tables: { orders: {} } }\n'
            "routes:\n"
            "  - { topic: a..b, to: 'file:out' }\n"
            "  - { topic: x.**, to: 'gopher:x' }\n"
            "  - { topic: y.**, to: ['carrier:x', 'file:out'] }\n"
            "  - { topic: z.**, to: 'http://localhost:9000/x' }\n"
            "  - { topic: z.a.**, to: 'file:out' }\n"
            "retry: { atempts_max: 3 }\n"
        )
        result = self.sagabox("config", "check")
        self.assertEqual(result.returncode, 2)
        lines = result.stderr.splitlines()
        told = [(int(line.split(":")[1]), line) for line in lines]
        self.assertEqual([number for number, _ in told], [3, 3, 5, 6, 7, 8, 10], result.stderr)
        for (_, line), part in zip(
            told,
            [
                "",
                "",
                "a..b",
                'routes[1].to[0]: there is no transport "gopher"',
                'routes[2].to[0]: there is no transport "carrier"',
                "allow it in the configuration: transports: { http: { allow: [localhost] } }",
                'unknown key "atempts_max"',
            ],
        ):
            self.assertIn(part, line)
        self.assertIn("stores.a has a table of this name too", result.stderr)
        self.assertIn("stores.b.url: this build has", result.stderr)

    def test_check_finds_what_serve_would_refuse(self):
        self.config.write_text(
            'stores:\n  a: { url: "memory:", tables: { orders: {} } }\n  b: { url: "memory:", tables: { orders: {} } }\n'
            'routes: [ { topic: "**", to: "file:out" } ]\n'
        )
        for verb in (["config", "check"], ["serve"]):
            result = self.sagabox(*verb)
            self.assertEqual(result.returncode, 2, verb)
            self.assertIn(
                "stores.b.tables.orders: stores.a has a table of this name too; give it another", result.stderr
            )

    def test_print_says_where_settings_come_from_and_can_be_read_again(self):
        self.config.write_text(ROUTED.format(target="x"))
        result = self.sagabox("config", "print", SAGABOX_RETENTION="3d")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("\nretention: 3d  # SAGABOX_RETENTION\n", result.stdout)
        self.assertIn("demo: true  # sagabox.yaml:1\n", result.stdout)
        self.assertIn("  workers: 4  # default\n", result.stdout)
        (self.folder / "again.yaml").write_text(result.stdout)
        self.assertEqual(self.sagabox("config", "check", "--config", "again.yaml").returncode, 0)

    def test_no_output_repeats_a_secret(self):
        route = "routes: [{ topic: t, to: 'fn:show' }]\n"
        configurations = [
            "routes: [{ topic: t, to: 'https://user:hunter2@x.example/z' }]\n",
            "routes: [{ topic: t, to: 'user:hunter2@x.example' }]\n",
            "routes: [{ topic: t, to: ['kafka:user:hunter2@x', 'https://x.example/?token=hunter2'] }]\n",
            "routes: [{ topic: t, to: { address: 'https://x.example/', header.Authorization: 'hunter2' } }]\n"
            "stores: { main: { url: 'postgres://me:hunter2@127.0.0.1:1/x?password=hunter2' } }\n",
            route + "stores: { main: { url: 'postgres://me:p@hunter2@127.0.0.1:1/x' } }\n",
            route + "stores: { main: { url: 'postgres://127.0.0.1:1/x?sslpassword=hunter2' } }\n",
            route + "stores: { main: { url: 'host=127.0.0.1 password=hunter2' } }\n",
            route + "stores: ['postgres://me:hunter2@db/x']\n",
            "transports: { redis: { password: *hunter2 } }\n",
            "stores: { main: { url: 'memory:' } }\ntracing: { endpoint: 'u:hunter2@x' }\n" + route,
            "stores: { main: { url: 'memory:' } }\ntls: { key_file: 'https://u:hunter2@x' }\n" + route,
        ]
        for text in configurations:
            self.config.write_text(text)
            for verb in (["config", "check"], ["config", "print"], ["doctor"], ["serve", "--fail-fast"]):
                with self.subTest(text=text, verb=verb):
                    result = self.sagabox(*verb, "--config", "sagabox.yaml", SAGABOX_LISTEN="127.0.0.1:0")
                    said = result.stdout + result.stderr
                    self.assertNotIn("hunter2", said)
                    if verb[0] == "serve":
                        self.assertNotEqual(result.returncode, 0, said)
                        self.assertTrue(said)

    def test_schema_is_json(self):
        schema = json.loads(self.sagabox("config", "schema").stdout)
        self.assertIn("attempts_max", schema["properties"]["retry"]["properties"])
        self.assertFalse(schema["additionalProperties"])


if __name__ == "__main__":
    unittest.main()
