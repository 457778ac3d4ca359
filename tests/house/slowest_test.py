#!/usr/bin/env python3
"""The list at the end of ./dev test names what was slow."""

import unittest

from slowest import COUNT, slowest


def report(cases):
    rows = "".join(
        f'<testcase name="{name}" time="{seconds}" status="{status}"/>'
        for name, seconds, status in cases
    )
    return f"<testsuite>{rows}</testsuite>"


class Slowest(unittest.TestCase):
    def test_slowest_come_first_also_those_that_failed(self):
        lines = slowest(report([("a", 1.5, "run"), ("b", 2, "fail"), ("c", 9, "notrun")]))
        self.assertIn("2 tests, which took 4 s", lines[0])
        self.assertEqual([line.split()[-1] for line in lines[1:]], ["b", "a"])

    def test_list_is_bounded(self):
        lines = slowest(report([(f"t{n}", n, "run") for n in range(3 * COUNT)]))
        self.assertEqual(len(lines), 1 + COUNT)

    def test_nothing_ran(self):
        self.assertEqual(slowest(report([("a", 0, "notrun")])), [])


if __name__ == "__main__":
    unittest.main()
