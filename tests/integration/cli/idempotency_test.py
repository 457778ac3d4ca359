#!/usr/bin/env python3
"""The same request sent twice to a daemon, and what an operator sees of its key.

usage: idempotency_test.py SAGABOX [unittest arguments]
"""

import http.client
import json
import unittest

from daemon_folder import PATIENCE, FolderTestCase

MESSAGE = '{"topic": "demo.hello.said.v1", "payload": {"to": "you"}}'


class IdempotencyKeys(FolderTestCase):
    def post(self, key=None, body=MESSAGE, path="/v1/messages"):
        connection = http.client.HTTPConnection(self.address(), timeout=PATIENCE)
        connection.request("POST", path, body, {} if key is None else {"Idempotency-Key": key})
        response = connection.getresponse()
        headers = {name: text for name, text in response.getheaders() if name in ("Content-Type", "Location")}
        answer = (response.status, headers, response.read())
        connection.close()
        return answer

    def keys(self, *arguments):
        result = self.sagabox("idempotency", *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def written(self):
        result = self.sagabox("outbox", "list", "--state", "done", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return len(json.loads(result.stdout)["messages"])

    def restart(self):
        self.stop()
        (self.folder / "out").unlink()
        self.serve()

    def test_the_same_request_gets_the_same_answer_also_after_a_restart(self):
        self.serve()
        first = self.post("order-7")
        self.assertEqual(first[0], 201, first)
        self.assertEqual(self.post("order-7"), first)
        self.assertEqual(self.post('"order-7"'), first)
        self.restart()
        self.assertEqual(self.post("order-7"), first)
        other = self.post("order-7", MESSAGE.replace("you", "them"))
        self.assertEqual((other[0], json.loads(other[2])["code"]), (422, "TX.IDEMPOTENT_MISMATCH"))
        self.assertEqual(self.post()[0], 201, "without a key each is a message of its own")
        self.wait_for("out", "delivered demo.hello.said.v1")
        self.stop()
        self.assertEqual(self.written(), 2)

    def test_required_means_required(self):
        self.serve(SAGABOX_REST_IDEMPOTENCY_KEY="required")
        status, _, body = self.post()
        self.assertEqual((status, json.loads(body)["code"]), (400, "REQUEST.INVALID"))
        self.assertIn("Idempotency-Key: missing", json.loads(body)["detail"])
        self.assertEqual(self.post("order-7")[0], 201)
        over_daemon = ("--server", f"http://{self.address()}")
        for act in ("pause", "resume"):
            done = self.sagabox(act, *over_daemon)
            self.assertEqual(done.returncode, 0, "the command line sends one: " + done.stderr)

    def test_an_operator_sees_and_forgets_keys(self):
        self.serve()
        self.post("order-7")
        page = self.keys("list")
        self.assertEqual([(one["key"], one["state"]) for one in page["keys"]], [("order-7", "succeeded")])
        self.assertNotIn("you", json.dumps(page), "no payload")
        consumer = page["keys"][0]["consumer"]
        over_daemon = ("--server", f"http://{self.address()}")
        self.assertEqual(self.keys("list", *over_daemon), page)
        self.assertEqual(self.keys("show", consumer, "order-7", *over_daemon), page["keys"][0])

        self.assertIn("would be forgotten", self.sagabox("idempotency", "purge", consumer, "order-7", "--dry-run").stdout)
        unasked = self.sagabox("idempotency", "purge", consumer, "order-7")
        self.assertEqual(unasked.returncode, 2, "nobody can be asked")
        self.assertEqual(len(self.keys("list")["keys"]), 1)
        self.assertEqual(self.keys("purge", consumer, "order-7", "--yes", "--note", "try again")["purged"], 1)
        self.assertEqual(self.keys("list")["keys"], [])
        self.assertEqual(self.keys("purge", "--expired", *over_daemon)["purged"], 0)
        self.assertIn("try again", self.sagabox("audit", "export").stdout)

        missing = self.sagabox("idempotency", "show", consumer, "order-7")
        self.assertEqual(missing.returncode, 1)
        self.assertIn(f"consumer {consumer} has no key order-7", missing.stderr)
        for wrong in ((), ("--expired", consumer, "order-7"), ("--expired", "--dry-run"), (consumer,)):
            with self.subTest(wrong):
                result = self.sagabox("idempotency", "purge", *wrong)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
