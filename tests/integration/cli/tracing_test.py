#!/usr/bin/env python3
"""Spans of a real daemon, and collectors that take them, are down, hang, or have no time.

usage: tracing_test.py SAGABOX [unittest arguments]
"""

import json
import re
import socket
import threading
import time
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from daemon_folder import PATIENCE, FolderTestCase, eventually

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
NOT_SAMPLED = f"00-{TRACE}-{PARENT}-00"
# What a stop may take: the spans' time, a second of libcurl's, and a machine that others use.
STOP_MAX = 30

CONFIG = """\
stores:
  orders: {{ url: "sqlite:orders.db", tables: [orders] }}
routes:
  - {{ topic: "orders.**", to: "file:delivered" }}
unroutable: dead
tracing:
  endpoint: http://127.0.0.1:{port}
  service_name: relay-of-the-test
  batch_delay: 50ms
  sample_ratio: {ratio}
  flush_max: 1s
  timeout: 60s
  authorization: Bearer of-the-test
"""


class Collector:
    """Takes spans over HTTP, and answers as it is told."""

    def __init__(self):
        self.spans = []
        self.requests = []
        self.status = 200
        self.headers = {}
        self.released = threading.Event()
        self.released.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.requests.append((self.path, dict(self.headers), body))
                if not collector.released.wait(2 * PATIENCE):
                    return
                if collector.status == 200:
                    for resource in body["resourceSpans"]:
                        for scope in resource["scopeSpans"]:
                            collector.spans += scope["spans"]
                self.send_response(collector.status)
                for name, value in {"Content-Length": "2", **collector.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *of: None  # a daemon that stops leaves in the middle
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {
        pair["key"]: pair["value"].get("stringValue", pair["value"].get("intValue"))
        for pair in span["attributes"]
    }


class Tracing(FolderTestCase):
    def start(self, port, ratio=0):
        self.config.write_text(CONFIG.format(port=port, ratio=ratio))
        self.serve("--config", "sagabox.yaml")

    def collector(self):
        collector = Collector()
        self.addCleanup(collector.close)
        return collector

    def write(self, number, traceparent=None, topic="orders.order.placed.v1"):
        headers = {"Content-Type": "application/json"}
        if traceparent:
            headers["traceparent"] = traceparent
        body = json.dumps({"topic": topic, "id": f"order-{number}", "payload": number}).encode()
        request = urllib.request.Request(f"http://{self.address()}/v1/messages", body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            self.assertIn(answer.status, (200, 201, 202))

    def figure(self, result):
        with urllib.request.urlopen(f"http://{self.address()}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        found = re.search(rf'^sagabox_tracing_spans_total{{result="{result}"}} (\S+)$', text, re.M)
        return float(found.group(1)) if found else 0

    def stop_within(self, seconds):
        began = time.monotonic()
        self.stop()
        self.assertLess(time.monotonic() - began, seconds)

    def test_a_delivery_is_a_child_of_the_message_s_trace(self):
        collector = self.collector()
        self.start(collector.port)
        self.write(1, SAMPLED)
        self.write(2, NOT_SAMPLED)
        self.write(3)
        self.wait_for("delivered", "order-", times=3)
        eventually("a span", lambda: collector.spans)
        self.stop()
        self.assertEqual(len(collector.spans), 1, "of the sampled one alone")
        span = collector.spans[0]
        self.assertEqual((span["traceId"], span["parentSpanId"]), (TRACE, PARENT))
        self.assertNotIn(span["spanId"], (PARENT, "0" * 16))
        self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
        self.assertLess(abs(int(span["endTimeUnixNano"]) / 1e9 - time.time()), 2 * PATIENCE)
        said = attributes(span)
        self.assertEqual(said["messaging.message.id"], "order-1")
        self.assertEqual(said["sagabox.table"], "orders")
        self.assertEqual(said["sagabox.attempt"], "1")
        self.assertEqual(said["sagabox.result"], "done")
        path, headers, body = collector.requests[0]
        self.assertEqual(path, "/v1/traces")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(headers["Authorization"], "Bearer of-the-test")
        resource = attributes(body["resourceSpans"][0]["resource"])
        self.assertEqual(resource["service.name"], "relay-of-the-test")
        # The next hop gets what the author wrote, not our span.
        events = [json.loads(line) for line in self.said("delivered").splitlines()]
        self.assertIn(SAMPLED, json.dumps(next(e for e in events if e["id"] == "order-1")))

    def test_an_attempt_of_the_hub_is_a_child_of_its_event_s_trace(self):
        collector = self.collector()
        got = []

        class Endpoint(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                got.append(self.headers["traceparent"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        endpoint = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        self.addCleanup(endpoint.server_close)
        self.addCleanup(endpoint.shutdown)
        made = self.sagabox("hub", "key", "--out", "hub.key")
        self.assertEqual(made.returncode, 0, made.stderr)
        hub = "hub: { enabled: true, secret_key_file: hub.key }\ntransports: { http: { allow: [127.0.0.1] } }\n"
        self.config.write_text(CONFIG.format(port=collector.port, ratio=0) + hub)
        self.serve("--config", "sagabox.yaml")
        over = ("--server", f"http://{self.address()}")
        target = f"http://127.0.0.1:{endpoint.server_address[1]}/hooks"
        added = self.sagabox("subscription", "add", target, "--type", "**", "--no-proof", *over)
        self.assertEqual(added.returncode, 0, added.stderr)
        body = json.dumps({"type": "shop.order.placed.v1", "payload": {}, "traceparent": SAMPLED}).encode()
        request = urllib.request.Request(f"http://{self.address()}/v1/events", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            event = json.load(answer)["id"]
        eventually("a span", lambda: collector.spans)
        self.stop()
        span = collector.spans[0]
        self.assertEqual((span["traceId"], span["parentSpanId"]), (TRACE, PARENT))
        said = attributes(span)
        self.assertEqual(said["messaging.message.id"], event)
        self.assertEqual((said["sagabox.result"], said["http.response.status_code"]), ("completed", "204"))
        self.assertEqual(got, [f"00-{TRACE}-{span['spanId']}-01"], "the endpoint's spans stand below ours")

    def test_messages_without_a_trace_are_sampled_by_the_ratio(self):
        collector = self.collector()
        self.start(collector.port, ratio=1)
        self.write(1)
        self.write(2)
        eventually("two spans", lambda: len(collector.spans) >= 2)
        eventually("both are counted", lambda: self.figure("exported") == 2)
        self.stop()
        self.assertEqual(len({span["traceId"] for span in collector.spans}), 2)
        self.assertFalse(any("parentSpanId" in span for span in collector.spans))

    def test_a_failed_delivery_says_why(self):
        collector = self.collector()
        self.start(collector.port)
        self.write(1, SAMPLED, topic="nowhere.to.go.v1")
        eventually("a span", lambda: collector.spans)
        self.stop()
        span = collector.spans[0]
        self.assertEqual(span["status"]["code"], 2)
        self.assertEqual(attributes(span)["error.type"], "TX.UNROUTABLE")
        self.assertEqual(attributes(span)["sagabox.result"], "reject")

    def test_a_collector_that_is_down_costs_spans_and_nothing_else(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listened on: refused
            self.start(taken.getsockname()[1], ratio=1)
            for number in range(20):
                self.write(number)
            self.wait_for("delivered", "order-", times=20)
            self.wait_for("err", "spans do not reach their collector")
            self.stop_within(STOP_MAX)

    def test_a_collector_that_hangs_holds_up_neither_deliveries_nor_the_stop(self):
        collector = self.collector()
        collector.released.clear()
        self.start(collector.port, ratio=1)
        self.write(0)
        eventually("a request that hangs", lambda: collector.requests)
        for number in range(1, 20):
            self.write(number)
        self.wait_for("delivered", "order-", times=20)
        self.stop_within(STOP_MAX)
        self.assertEqual(collector.spans, [])

    def test_a_collector_without_time_gets_them_when_it_has(self):
        collector = self.collector()
        collector.status, collector.headers = 503, {"Retry-After": "0"}
        self.start(collector.port, ratio=1)
        self.write(1)
        eventually("a request", lambda: collector.requests)
        self.wait_for("delivered", "order-")
        collector.status = 200
        # The first batch may have been given up meanwhile; the next one is taken.
        self.write(2)
        eventually("spans", lambda: collector.spans)
        self.wait_for("err", "spans reach their collector again")
        self.stop_within(STOP_MAX)

    def test_a_collector_that_never_has_time_does_not_hold_up_the_stop(self):
        collector = self.collector()
        collector.status, collector.headers = 503, {"Retry-After": "3600"}
        self.start(collector.port, ratio=1)
        self.write(1)
        eventually("a request", lambda: collector.requests)
        self.wait_for("delivered", "order-")
        self.stop_within(STOP_MAX)

    def test_the_configuration_masks_its_secrets_and_says_what_is_wrong(self):
        self.config.write_text(CONFIG.format(port=1, ratio=1) + "  headers: { x-team: of-the-test }\n")
        printed = self.sagabox("config", "print").stdout
        self.assertIn("endpoint: ", printed)
        self.assertNotIn("of-the-test", printed.replace("relay-of-the-test", ""))
        self.config.write_text("tracing: { endpoint: '127.0.0.1:4317' }\n")
        result = self.sagabox("config", "check")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^sagabox\.yaml:1: tracing\.?:? ?endpoint: write the URL")


if __name__ == "__main__":
    unittest.main()
