#!/usr/bin/env python3
"""The examples do what they say.

usage: examples_test.py ANY_EXAMPLE [unittest arguments]: the others lie beside it
"""

import contextlib
import http.client
import json
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

FOLDER = Path(sys.argv.pop(1)).resolve().parent
ORDER = '{"what": "two chairs"}'


def value(path, sql):
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as database:
        return database.execute(sql).fetchone()[0]


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_example(self, name, *arguments):
        result = subprocess.run(
            [FOLDER / name, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_single_process_delivers_what_was_committed(self):
        path = self.folder / "shop.db"
        for times in (1, 2):
            output = self.run_example("single_process", path)
            self.assertIn(f"delivered: {ORDER}", output)
            self.assertIn("not ordered: sold out", output)
            self.assertNotIn("a table", output)
            self.assertEqual(value(path, "SELECT count(*) FROM orders"), times)

    def test_several_databases_write_one_invoice_an_order(self):
        for times in (1, 2):
            output = self.run_example("several_databases", self.folder)
            self.assertIn('invoice sent: {"total": 80}', output)
            for database, table in (("orders", "orders"), ("billing", "invoices")):
                path = self.folder / f"{database}.db"
                self.assertEqual(value(path, f"SELECT count(*) FROM {table}"), times)

    def test_routes_bring_a_message_to_each_target_once(self):
        for times in (1, 2):
            self.assertIn("charged at attempt 2", self.run_example("routes", self.folder))
            lines = (self.folder / "orders.jsonl").read_text("utf-8").splitlines()
            self.assertEqual(len(lines), times, "the retry was not written to the file again")
            self.assertEqual(json.loads(lines[-1])["data"], json.loads(ORDER))

    def bookings(self):
        """How many things are booked, by trip."""
        with contextlib.closing(sqlite3.connect(self.folder / "travel.db", timeout=30)) as database:
            return dict(database.execute("SELECT trip, count(*) FROM booking GROUP BY trip").fetchall())

    def test_saga_travel_books_all_or_nothing(self):
        output = self.run_example("saga-travel")
        self.assertIn("the trip is completed", output)
        self.assertEqual(list(self.bookings().values()), [3])
        lines = self.run_example("saga-travel", "no-car").splitlines()
        self.assertEqual(lines[:4], ["flight booked", "hotel booked", "hotel cancelled", "flight cancelled"])
        self.assertEqual(lines[4], "the trip is cancelled")
        self.assertIn("car: failed, there is no car left", lines[-1])
        self.assertEqual(list(self.bookings().values()), [3], "those of the second trip are gone")

    def test_saga_travel_goes_on_where_it_was_killed(self):
        def trips(states):
            return value(self.folder / "travel.db", f"SELECT count(*) FROM sagabox_saga WHERE {states}")

        self.run_example("saga-travel")
        for milliseconds in range(20, 220, 20):
            killed = subprocess.Popen([FOLDER / "saga-travel"], cwd=self.folder, stdout=subprocess.DEVNULL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                killed.wait(milliseconds / 1000)
            killed.kill()
            killed.wait()
        for _ in range(100):
            self.run_example("saga-travel")
            if trips("state <> 'completed'") == 0:
                break
        self.assertEqual(trips("state <> 'completed'"), 0)
        bookings = self.bookings()
        self.assertEqual(len(bookings), trips("true"))
        self.assertEqual(set(bookings.values()), {3}, bookings)


class RestService(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "orders.db"
        self.start()

    def start(self):
        self.service = subprocess.Popen(
            [FOLDER / "rest_service", self.path, "0"], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self.stop)
        line = self.service.stdout.readline()
        self.port = int(re.search(r":(\d+)/", line).group(1))

    def stop(self):
        """What it printed and nobody has read."""
        if self.service.stdout.closed:
            return ""
        self.service.send_signal(signal.SIGTERM)
        output = self.service.communicate(timeout=60)[0]
        self.assertEqual(self.service.returncode, 0)
        return output

    def request(self, body=ORDER, key=None, method="POST", path="/orders"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            headers = {} if key is None else {"Idempotency-Key": key}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def counts(self):
        return tuple(
            value(self.path, f"SELECT count(*) FROM {table}") for table in ("orders", "answers")
        )

    def messages(self):
        """In one statement: they move from table to table meanwhile."""
        tables = " UNION ALL ".join(
            f"SELECT id FROM orders_{table}" for table in ("pending", "archive", "dead")
        )
        return value(self.path, f"SELECT count(*) FROM ({tables})")

    def test_repeated_key_gets_the_same_answer_and_makes_no_second_message(self):
        first = self.request(key="one")
        self.assertEqual(first, (201, {"id": 1}))
        self.assertEqual(self.request(key="one"), first)
        self.assertEqual(self.request(key="two"), (201, {"id": 2}))
        self.assertEqual(self.counts(), (2, 2))
        self.assertEqual(self.messages(), 2)
        delivered = {self.service.stdout.readline() for _ in range(2)}
        lines = {f'delivered {{"id": {id}, "order": {ORDER}}}\n' for id in (1, 2)}
        self.assertEqual(delivered, lines)
        self.assertEqual(self.stop(), "")

    def test_repeated_key_is_known_after_a_restart(self):
        first = self.request(key="one")
        self.stop()
        self.start()
        self.assertEqual(self.request(key="one"), first)
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(self.messages(), 1)

    def test_requests_with_one_key_at_once_make_one_order(self):
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(self.request(key="one")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [(201, {"id": 1})] * 8)
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(self.messages(), 1)

    def test_what_is_wrong_is_said_and_changes_nothing(self):
        self.request(key="one")
        wrong = (
            (400, {}),
            (400, {"key": "k" * 37}),
            (400, {"key": "two", "body": "{"}),
            (422, {"key": "one", "body": '{"what": "a table"}'}),
            (404, {"key": "two", "path": "/"}),
            (405, {"key": "two", "method": "PUT"}),
        )
        for status, arguments in wrong:
            with self.subTest(status=status, **arguments):
                answer = self.request(**arguments)
                self.assertEqual(answer[0], status)
                self.assertTrue(answer[1]["error"])
        self.assertEqual(self.counts(), (1, 1))


class IdempotentService(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = f"sqlite:{folder.name}/charges.db"
        self.start()

    def start(self):
        self.service = subprocess.Popen(
            [FOLDER / "idempotent_service", self.store, "0"], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self.kill, self.service)
        self.port = int(re.search(r":(\d+)/", self.service.stdout.readline()).group(1))

    @staticmethod
    def kill(service):
        service.kill()
        service.communicate(timeout=60)

    def charge(self, key=None, body='{"cents": 4200}'):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/charges", body, {} if key is None else {"Idempotency-Key": key})
            response = connection.getresponse()
            return response.status, response.getheader("Location"), response.read()

    def test_a_card_is_charged_once_for_a_key(self):
        first = self.charge("one")
        self.assertEqual(first, (201, "/charges/1", b'{"charge": 1}'))
        self.assertEqual(self.charge("one"), first)
        self.assertEqual(self.charge("two")[1], "/charges/2")
        self.assertEqual(self.charge("one", '{"cents": 1}')[0], 422)
        self.assertEqual(self.charge()[0], 400)
        self.kill(self.service)
        self.start()
        self.assertEqual(self.charge("one"), first, "also after a crash")

    def test_of_requests_at_once_one_is_run(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.charge("one"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        statuses = {answer[0] for answer in answers}
        self.assertLessEqual(statuses, {201, 409}, "done, or being worked on")
        self.assertEqual({answer[1] for answer in answers if answer[0] == 201}, {"/charges/1"})
        self.assertEqual(self.charge("one")[1], "/charges/1")


if __name__ == "__main__":
    unittest.main()
