#!/usr/bin/env python3
"""The daemon, a shop and two receivers of webhooks in Node, as examples/webhook-hub/run.sh starts them.

usage: webhook_hub_test.py SAGABOX [unittest arguments]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

SAGABOX = str(Path(sys.argv.pop(1)).resolve())
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "webhook-hub"
PACKAGES = ROOT / "tests" / "outside" / "node_modules"
CLEAN = {name: text for name, text in os.environ.items() if not name.startswith("SAGABOX_")}
CLEAN["NODE_PATH"] = str(PACKAGES)


@unittest.skipUnless(shutil.which("node"), "node is not installed; ./dev setup does it")
@unittest.skipUnless(
    PACKAGES.exists(), "tests/outside/node_modules is missing; ./dev setup fetches it from npm"
)
class WebhookHub(unittest.TestCase):
    def test_what_was_retried_and_requeued_is_in_the_books_once(self):
        script = subprocess.Popen(
            [EXAMPLE / "run.sh"],
            env={**CLEAN, "SAGABOX": SAGABOX},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(script.stdout.close)
        self.addCleanup(script.stderr.close)
        output, errors = script.communicate(timeout=100)
        self.assertEqual(script.returncode, 0, output + errors)
        self.assertEqual(errors, "")
        for line in [
            "published  orders 1 to 5, each said twice: 5 events, 5 known already",
            "delivered  5 to warehouse, 4 to billing",
            "retried    2 to billing, which had answered 2 times 500",
            "delivered  3 to warehouse",
            "dead       2 to billing, which answered 500 to all attempts:",
            "requeued   2 deliveries requeued",
            "books      shop 8 orders, 270.00; warehouse 8 orders, 270.00; billing 6 orders, 270.00",
            "           they agree",
        ]:
            self.assertIn(line, output.splitlines())
        self.assertIn("attempt 3 was the last", output)
        with self.assertRaises(ProcessLookupError, msg="nothing is left of what it started"):
            os.killpg(script.pid, 0)

    def test_books_that_disagree_are_a_failure(self):
        orders = [{"order": 1, "cents": 1000}, {"order": 2, "cents": 0}, {"order": 3, "cents": 500}]
        paid = [orders[2], orders[0]]
        for warehouse, billing, agree in [
            (orders, paid, True),
            (orders[:2], paid, False),
            ([*orders, orders[0]], paid, False),
            (orders, paid[:1], False),
            (orders, orders, False),
            (orders, [{"order": 1, "cents": 1500}, {"order": 3, "cents": 0}], False),
        ]:
            with self.subTest(warehouse=warehouse, billing=billing), tempfile.TemporaryDirectory() as folder:
                paths = []
                for name, book in (("shop", orders), ("warehouse", warehouse), ("billing", billing)):
                    paths.append(Path(folder) / f"{name}.jsonl")
                    paths[-1].write_text("".join(json.dumps(order) + "\n" for order in book), "utf-8")
                result = subprocess.run(
                    ["node", EXAMPLE / "books.cjs", *paths],
                    env=CLEAN, capture_output=True, text=True, check=False, timeout=60,
                )  # fmt: skip
                self.assertEqual(result.returncode, 0 if agree else 1, result.stdout + result.stderr)

    def test_receivers_take_nothing_that_is_not_signed_for_them(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "receiver.secret").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "utf-8")
            receiver = subprocess.Popen(
                ["node", EXAMPLE / "receiver.cjs"],
                cwd=folder, env={**CLEAN, "PORT": "0"}, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            try:
                url = re.search(r"http://\S+", receiver.stdout.readline()).group(0)
                headers = {
                    "ce-type": "shop.order.placed.v1", "webhook-id": "1",
                    "webhook-timestamp": "1767225600", "webhook-signature": "v1,AAAA",
                }  # fmt: skip
                request = urllib.request.Request(url, b'{"order": 1, "cents": 1}', headers)
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(request, timeout=60)
                with refused.exception as answer:
                    self.assertEqual(answer.code, 401)
                self.assertEqual((Path(folder) / "receiver.jsonl").read_text("utf-8"), "")
            finally:
                receiver.kill()
                receiver.communicate()


if __name__ == "__main__":
    unittest.main()
