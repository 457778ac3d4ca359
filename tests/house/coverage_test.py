#!/usr/bin/env python3
"""The coverage check finds what it is there to find."""

import tempfile
import unittest
from pathlib import Path

import coverage
from coverage import REQUIREMENTS, plain_name

TESTS = {"Store.Reads", "house.version"}
OPEN = 4


def problems(text, tests):
    return coverage.problems(text, tests, {OPEN})


def page(**cells):
    """A page with a row for every requirement; the first cell of some replaced."""
    return "\n".join(
        f"| {name} words | {cells.get(name, '`Store.Reads`')} | issue {OPEN} "
        "| issue to come: that store | –: no rows | `house.version`; issue to come: more |"
        for name in REQUIREMENTS
    )


class Coverage(unittest.TestCase):
    def test_complete_page_passes(self):
        self.assertEqual(problems(page(), TESTS), [])

    def test_each_fault_is_named(self):
        for cell, complaint in [
            ("`Store.Writes`", "there is no test `Store.Writes`"),
            ("Store.Reads", "is neither a `Test.Name`"),
            ("", "is neither a `Test.Name`"),
            ("–", "is neither a `Test.Name`"),
            ("–: ", "is neither a `Test.Name`"),
            ("later", "is neither a `Test.Name`"),
            ("issue 2", "is not an open issue"),
            ("issue to come:", "is neither a `Test.Name`"),
            ("`Store.Reads`; `Store.Writes`", "there is no test `Store.Writes`"),
        ]:
            with self.subTest(cell=cell):
                found = problems(page(D5=cell), TESTS)
                self.assertEqual(len(found), 1, found)
                self.assertIn("D5, memory", found[0])
                self.assertIn(complaint, found[0])

    def test_missing_double_and_unknown_rows_are_named(self):
        lines = page().split("\n")
        self.assertEqual(
            problems("\n".join(lines[1:]), TESTS), ["docs/coverage.md: no row for O1"]
        )
        self.assertIn("a second row", problems("\n".join([*lines, lines[0]]), TESTS)[0])
        unknown = lines[0].replace("O1", "O99")
        self.assertIn("no such requirement", problems("\n".join([*lines, unknown]), TESTS)[0])
        short = "\n".join([lines[0].rsplit("|", 2)[0] + "|", *lines[1:]])
        self.assertIn("4 cells", problems(short, TESTS)[0])

    def test_a_row_of_reasons_only_is_not_enough(self):
        lines = page().split("\n")
        lines[0] = "| O1 words " + "| –: reason " * 5 + "|"
        self.assertEqual(len(problems("\n".join(lines), TESTS)), 1)

    def test_cases_of_a_suite_in_parts_are_listed(self):
        printed = (
            "Running main() from gtest_main.cc\nUlid.\n  Sorts\n"
            "Memory/Store.\n  Reads/visible  # GetParam() = visible\n"
        )
        cases = list(coverage.listed_cases(printed))
        self.assertEqual(cases, ["Ulid.Sorts", "Memory/Store.Reads/visible"])
        self.assertEqual(plain_name(f"part.{cases[1]}"), "Store.Reads")

    def test_names_of_parameterised_tests(self):
        self.assertEqual(plain_name("unit.Ulid.Sorts"), "Ulid.Sorts")
        self.assertEqual(plain_name("conformance.Memory/Store.Reads/visible"), "Store.Reads")
        self.assertEqual(plain_name("conformance.Memory/Store.Reads/0.5"), "Store.Reads")
        self.assertEqual(plain_name("house.version"), "house.version")
        self.assertEqual(plain_name("unit_tests_NOT_BUILT"), "unit_tests_NOT_BUILT")


class Built(unittest.TestCase):
    def test_the_first_tree_that_has_it(self):
        with tempfile.TemporaryDirectory() as folder:
            release, asan = Path(folder).resolve() / "release", Path(folder).resolve() / "asan"
            (asan / "tests").mkdir(parents=True)
            (asan / "tests/unit_tests").touch()
            self.assertEqual(coverage.built("unit", release, [asan]), asan / "tests/unit_tests")
            (release / "tests").mkdir(parents=True)
            (release / "tests/unit_tests").touch()
            self.assertEqual(coverage.built("unit", release, [asan]), release / "tests/unit_tests")

    def test_none_has_it(self):
        with self.assertRaises(SystemExit):
            coverage.built("unit", "/none", ["/other"])


if __name__ == "__main__":
    unittest.main()
