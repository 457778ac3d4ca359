#!/usr/bin/env python3
"""`sagabox doctor --config`: a configuration, its stores, and the brokers of its routes on real servers,
some of them badly set up, one down, one that says nothing.

usage: doctor_test.py SAGABOX [unittest arguments]
"""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from daemon_folder import PATIENCE, FolderTestCase, eventually

# All brokers together: each has five seconds for its answers and five for its farewell.
DOCTOR_MAX = 50


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class DoctorTestCase(FolderTestCase):
    def start(self, program, *arguments, port):
        path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
        if path is None:
            self.skipTest(f"{program} is not installed")
        with open(self.folder / f"{program}.log", "wb") as log:
            server = subprocess.Popen([path, *arguments], cwd=self.folder, stdout=log, stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        eventually(lambda: f"{program}: {self.said(program + '.log')}", lambda: is_open(port))
        return port

    def redis(self, *settings):
        port = free_port()
        words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", *settings]
        return self.start("redis-server", *words, port=port)

    def nats(self, **stream):
        port = free_port()
        words = ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(self.folder / "nats")]
        self.start("nats-server", *words, port=port)
        if stream:
            request = json.dumps({"name": "ORDERS", "subjects": ["orders"], **stream})
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as link:
                link.sendall(
                    b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n'
                    + f"PUB $JS.API.STREAM.CREATE.ORDERS answer {len(request)}\r\n{request}\r\n".encode()
                )
                said = b""
                while b"stream_create_response" not in said:
                    more = link.recv(65536)
                    self.assertTrue(more, said)
                    said += more
        return port

    def http(self):
        server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def silent(self):
        """Takes connections and says nothing."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        return server.getsockname()[1]

    def configure(self, targets, transports=""):
        routes = "".join(f"  - {{ topic: 'orders.{n}.**', to: '{to}' }}\n" for n, to in enumerate(targets))
        self.config.write_text(
            "stores:\n  main: { url: 'sqlite:orders.db', tables: [orders] }\n"
            f"routes:\n{routes}transports:\n  http: {{ allow: [127.0.0.1] }}\n{transports}"
        )
        made = self.sagabox("migrate", "up", "--store", "sqlite:orders.db", "--table", "orders")
        self.assertEqual(made.returncode, 0, made.stderr)

    def doctor(self, code):
        began = time.monotonic()
        result = self.sagabox("doctor", "--config", "sagabox.yaml", "--json")
        self.assertLess(time.monotonic() - began, DOCTOR_MAX)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)["findings"]

    def found(self, findings, where, severity):
        return " ".join(f["what"] for f in findings if (f["where"], f["severity"]) == (where, severity))


class Doctor(DoctorTestCase):
    def test_servers_that_keep_what_they_take_are_fine(self):
        redis = self.redis("--appendonly", "yes", "--appendfsync", "always")
        self.configure(
            ["redis:orders", f"http://127.0.0.1:{self.http()}/hook"],
            f"  redis: {{ url: 'redis://127.0.0.1:{redis}' }}\n",
        )
        findings = self.doctor(code=0)
        self.assertFalse([f for f in findings if f["severity"] != "info"], findings)
        self.assertIn("nothing is wrong", self.sagabox("doctor", "--config", "sagabox.yaml").stdout)

    def test_redis_that_forgets_is_told(self):
        port = self.redis("--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
        self.configure(["redis:orders"], f"  redis: {{ url: 'redis://127.0.0.1:{port}' }}\n")
        said = self.found(self.doctor(code=1), "transport redis", "warning")
        self.assertIn("appendonly is off", said)
        self.assertIn("allkeys-lru", said)

    def test_nats_is_asked_for_the_streams_of_the_routes(self):
        port = self.nats(storage="memory")
        self.configure(["nats:orders", "nats:lost"], f"  nats: {{ servers: ['nats://127.0.0.1:{port}'] }}\n")
        said = self.found(self.doctor(code=1), "transport nats", "warning")
        self.assertIn("stream ORDERS: is kept in memory", said)
        self.assertIn("subject lost: no stream takes it", said)

    def test_nats_on_disk_is_not_said_to_be_in_memory(self):
        port = self.nats(storage="file")
        self.configure(["nats:orders"], f"  nats: {{ servers: ['nats://127.0.0.1:{port}'] }}\n")
        said = self.found(self.doctor(code=1), "transport nats", "warning")
        self.assertNotIn("in memory", said)
        self.assertIn("sync_interval", said, "one replica is only as safe as that")

    def test_what_mqtt_cannot_be_asked_is_said(self):
        port = free_port()
        (self.folder / "mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        self.start("mosquitto", "-c", "mosquitto.conf", port=port)
        self.configure(["mqtt:orders"], f"  mqtt: {{ url: 'mqtt://127.0.0.1:{port}' }}\n")
        result = self.sagabox("doctor", "--config", "sagabox.yaml", "--json")
        findings = json.loads(result.stdout)["findings"]
        self.assertIn("cannot be asked over MQTT", self.found(findings, "transport mqtt", "info"))
        self.assertEqual(self.found(findings, "transport mqtt", "error"), "")

    def test_what_is_down_is_an_error_and_the_others_are_asked_all_the_same(self):
        redis = self.redis("--appendonly", "no")
        bound = socket.socket()  # and not listened on: refused
        self.addCleanup(bound.close)
        bound.bind(("127.0.0.1", 0))
        down = bound.getsockname()[1]
        self.configure(
            ["redis:orders", "nats:orders", f"http://127.0.0.1:{down}/hook", f"http://127.0.0.1:{self.http()}/"],
            f"  redis: {{ url: 'redis://127.0.0.1:{redis}' }}\n  nats: {{ servers: ['nats://127.0.0.1:{down}'] }}\n",
        )
        findings = self.doctor(code=1)
        http = self.found(findings, "transport http", "error")
        self.assertIn(f"cannot connect to http://127.0.0.1:{down}: ", http)
        self.assertEqual(http.count("http://127.0.0.1"), 1, "the other one is up")
        cure = next(f["cure"] for f in findings if (f["where"], f["severity"]) == ("transport http", "error"))
        self.assertIn("nothing listens there", cure)
        self.assertIn("cannot connect to NATS", self.found(findings, "transport nats", "error"))
        self.assertIn("appendonly is off", self.found(findings, "transport redis", "warning"))

    def test_a_server_that_says_nothing_is_not_waited_for_long(self):
        port = self.silent()
        self.configure(["redis:orders"], f"  redis: {{ url: 'redis://127.0.0.1:{port}' }}\n")
        self.assertTrue(self.found(self.doctor(code=1), "transport redis", "error"))

    def test_tls_that_does_not_come_about_is_an_error(self):
        port = self.silent()
        self.configure([f"https://127.0.0.1:{port}/hook"])
        self.assertIn(f"https://127.0.0.1:{port}", self.found(self.doctor(code=1), "transport http", "error"))

    def test_an_address_that_the_guard_refuses_is_told_before_a_message_is(self):
        self.configure([f"http://localhost:{self.http()}/"])
        self.config.write_text(self.config.read_text().replace("allow: [127.0.0.1]", "allow: [10.0.0.0/8]"))
        self.assertIn("loopback", self.found(self.doctor(code=1), "transport http", "error"))

    def test_a_wrong_configuration_is_a_finding(self):
        self.config.write_text("retenton: 7d\n")
        findings = self.doctor(code=1)
        self.assertIn("sagabox.yaml:1: unknown key", self.found(findings, "configuration", "error"))

    def test_stores_and_tables_that_are_not_there_are_told(self):
        self.configure(["file:out"])
        text = self.config.read_text().replace("[orders]", "[orders, billing]")
        self.config.write_text(text.replace("stores:\n", "stores:\n  other: { url: 'sqlite:other.db' }\n"))
        findings = self.doctor(code=1)
        self.assertIn("it is configured, but not in", self.found(findings, "table billing", "warning"))
        self.assertIn("there is no file other.db", self.found(findings, "store other", "warning"))
        self.assertFalse((self.folder / "other.db").exists(), "looking changes nothing")


if __name__ == "__main__":
    unittest.main()
