#!/usr/bin/env python3
"""sagabox_bench prints what its readers expect. What the figures are is not tested.

usage: bench_test.py SAGABOX_BENCH [unittest arguments]
"""

import json
import subprocess
import sys
import unittest

BENCH = sys.argv.pop(1)
SMALL = ["--messages", "20000", "--hand-overs", "50", "--repeats", "1"]
SQLITE_GOALS = [
    "sqlite.tx_with_message",
    "sqlite.write.batch",
    "sqlite.drain.delete",
    "sqlite.drain.retain",
    "sqlite.drain.backlog_1m",
    "sqlite.hot.p50_us",
    "sqlite.pending_1m.rss_mib",
]
HUB_GOALS = {
    "hub.postgres.rate",
    "hub.postgres.fanout_10.rate",
    "hub.postgres.stored_1m",
    "hub.latency.p50_ms",
    "hub.sqlite.rate",
}
NAMES = ["core.dispatch", "core.hot.p50_us", "core.hot.p99_us", "core.write"]


def bench(*arguments):
    return subprocess.run(
        [BENCH, *arguments], capture_output=True, text=True, check=False, timeout=100
    )


class Bench(unittest.TestCase):
    def test_json_has_all_fields(self):
        result = bench("core", "--json", *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["name"] for line in lines], NAMES)
        for line in lines:
            with self.subTest(name=line["name"]):
                self.assertGreater(line["value"], 0)
                self.assertGreater(line["baseline"], 0)
                self.assertAlmostEqual(line["ratio"], line["value"] / line["baseline"])
                self.assertIn(line["unit"], ("messages/s", "us", "transactions/s"))
                self.assertEqual(set(line["machine"]), {"cpu", "cores", "arch"})
                self.assertTrue(all(line["machine"].values()), line)
                self.assertTrue(line["commit"])

    def test_postgres_prints_figures_alone_and_names_what_it_skips(self):
        small = ["--json", "--no-sweep", "--rows", "2000", "--repeats", "1"]
        for name in ("postgres.drain.delete", "postgres.drain.competing"):
            with self.subTest(name=name):
                result = bench(name, *small)
                if "PostgreSQL's server is not installed" in result.stderr:
                    self.skipTest(result.stderr)
                self.assertEqual(result.returncode, 0, result.stderr)
                lines = [json.loads(line) for line in result.stdout.splitlines()]
                self.assertEqual([line["name"] for line in lines], [name])
                self.assertTrue(lines[0]["commit"])
                if "skipped" not in lines[0]:
                    self.assertGreater(lines[0]["value"], 0)
                    self.assertGreater(lines[0]["baseline"], 0)

    def test_sqlite_prints_every_figure(self):
        small = ["--json", "--no-sweep", "--rows", "2000", "--repeats", "1", "--hand-overs", "50"]
        result = bench("sqlite", *small)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["name"] for line in lines if "goal" in line], SQLITE_GOALS)
        for line in lines:
            with self.subTest(name=line["name"]):
                self.assertGreater(line["value"], 0)
                self.assertGreater(line["baseline"], 0)
                self.assertTrue(line["commit"])

    def test_hub_prints_every_figure(self):
        small = ["--json", "--no-sweep", "--rows", "2000", "--repeats", "1", "--hand-overs", "50"]
        result = bench("hub", *small)
        if "PostgreSQL's server is not installed" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        if any("skipped" in line for line in lines):
            self.skipTest(result.stdout)
        goals = {line["name"] for line in lines if "goal" in line}
        self.assertEqual(goals, HUB_GOALS)
        for line in lines:
            with self.subTest(name=line["name"]):
                self.assertGreater(line["value"], 0)
                if "latency" not in line["name"]:
                    self.assertGreater(line["baseline"], 0)

    def test_slo_counts_what_was_delivered_and_retried(self):
        result = bench("slo", "--json", "--seconds", "6", "--rate", "50")
        for missing in ("PostgreSQL's server is not installed", "slo not in"):
            if missing in result.stderr:
                self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = {line["name"]: line for line in map(json.loads, result.stdout.splitlines())}
        values = {name.removeprefix("slo."): line["value"] for name, line in lines.items()}
        self.assertEqual((values["messages"], values["refused_once"]), (300, 3))
        self.assertEqual((values["success_percent"], values["retry_success_percent"]), (100, 100))
        self.assertEqual((values["dead_percent"], values["unknown_errors_percent"]), (0, 0))
        self.assertGreater(values["first_delivery.p95_s"], 0)
        goals = {name for name, line in lines.items() if "goal" in line}
        self.assertEqual(len(goals), 5, "those of the requirement that are about messages")

    def test_table_names_every_figure(self):
        result = bench("core", *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in NAMES:
            self.assertRegex(result.stdout, rf"(?m)^{name} ")
        self.assertIn("the best of 1 runs", result.stdout)

    def test_wrong_use_is_exit_code_two(self):
        for arguments in (["cores"], ["--messages", "0"], ["--quickly"]):
            with self.subTest(arguments=arguments):
                result = bench(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(arguments[-1], result.stderr)
                self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
