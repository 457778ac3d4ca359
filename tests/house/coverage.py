#!/usr/bin/env python3
"""docs/coverage.md has a row for every requirement, and every test it names is a ctest test.

usage: coverage.py PROJECT_ROOT BUILD_DIR [OTHER_BUILD_DIR...]

Cases of a suite that BUILD_DIR does not build are those of the other ones.

A cell holds one or more of these, separated by semicolons:
  `Suite.Name` or `house.name`   a test
  issue 4[: what]                an open issue that will bring one
  issue to come: what            the same, where the issue is not written yet
  –: reason                      none is needed, and why
"""

import json
import re
import subprocess
import sys
from pathlib import Path

LAST_NUMBER = {"O": 9, "D": 23, "I": 6, "G": 8, "H": 12, "L": 5, "T": 10, "V": 13}
REQUIREMENTS = [f"{area}{n}" for area, last in LAST_NUMBER.items() for n in range(1, last + 1)]
STORES = ["memory", "SQLite", "PostgreSQL", "MariaDB", "SurrealDB"]
# A cell may point at these. A finished issue leaves the list, and its cells must name tests.
OPEN_ISSUES = frozenset()

TEST_CELL = re.compile(r"^`([^`]+)`$")
ISSUE_CELL = re.compile(r"^issue (\d+)(: \S.*)?$")
REASON_CELL = re.compile(r"^(issue to come|–): \S.*$")


def plain_name(ctest_name):
    """`conformance.Memory/Store.Reads/visible` → `Store.Reads`; house tests stay as they are."""
    if ctest_name.startswith("house.") or "." not in ctest_name:
        return ctest_name
    name = ctest_name.split(".", 1)[1]
    parts = [part for part in name.split("/") if "." in part]
    return parts[0] if parts else name


def cell_problems(cell, tests, open_issues):
    for part in (part.strip() for part in cell.split(";")):
        if test := TEST_CELL.match(part):
            if test.group(1) not in tests:
                yield f"there is no test {part}"
        elif issue := ISSUE_CELL.match(part):
            if int(issue.group(1)) not in open_issues:
                yield f'"{part}" is not an open issue'
        elif not REASON_CELL.match(part):
            yield f'"{part}" is neither a `Test.Name`, an issue, nor "–: reason"'


def rows(text):
    """(line number, requirement, cells) of every table row that begins with a requirement."""
    for number, line in enumerate(text.split("\n"), start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and (found := re.match(r"^([A-Z]\d+)\b", cells[0])):
            yield number, found.group(1), cells[1:]


def problems(text, tests, open_issues=OPEN_ISSUES):
    """Everything that is wrong with a coverage page, as printable lines."""
    found, seen = [], set()
    for number, requirement, cells in rows(text):
        where = f"docs/coverage.md:{number}: {requirement}"
        if requirement not in REQUIREMENTS:
            found.append(f"{where}: no such requirement")
        if requirement in seen:
            found.append(f"{where}: a second row for it")
        seen.add(requirement)
        if len(cells) != len(STORES):
            found.append(f"{where}: {len(cells)} cells, expected one for each of {STORES}")
            continue
        if not re.search(r"`|\bissue ", " ".join(cells)):
            found.append(f"{where}: neither a test nor an issue that will bring one")
        for store, cell in zip(STORES, cells):
            wrong = cell_problems(cell, tests, open_issues)
            found += [f"{where}, {store}: {problem}" for problem in wrong]
    found += [f"docs/coverage.md: no row for {name}" for name in REQUIREMENTS if name not in seen]
    return found


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listed_cases(text):
    """The names in what a test binary prints for --gtest_list_tests."""
    suite = ""
    for line in text.split("\n"):
        words = line.split("#", 1)[0].rstrip()
        if not line.startswith(" ") and words.endswith("."):
            suite = words
        elif line.startswith("  ") and suite:
            yield suite + words.strip()


def built(suite, build, others):
    """The binary of a suite, in the first of the trees that has it."""
    below = Path("tests") / f"{suite}_tests"
    for tree in [build, *others]:
        if (found := Path(tree).resolve() / below).exists():
            return found
    trees = ", ".join(str(tree) for tree in [build, *others])
    sys.exit(f"{below} is in none of {trees}: ./dev test builds it")


def registered_tests(build, others):
    """The cases of a suite that runs in parts are asked for, those of others are ctest tests."""
    listing = json.loads(output_of(["ctest", "--test-dir", build, "--show-only=json-v1"]))
    names, suites = set(), set()
    for test in listing["tests"]:
        if re.search(r"\.part_\d+$", test["name"]):
            suites.add(test["name"].split(".", 1)[0])
        else:
            names.add(plain_name(test["name"]))
    for suite in suites:
        listing = output_of([built(suite, build, others), "--gtest_list_tests"])
        for case in listed_cases(listing):
            names.add(plain_name(f"part.{case}"))
    return names


def main():
    root, build = Path(sys.argv[1]), sys.argv[2]
    tests = registered_tests(build, sys.argv[3:])
    found = problems((root / "docs/coverage.md").read_text(encoding="utf-8"), tests)
    print("\n".join(found + [f"{len(REQUIREMENTS)} requirements, {len(found)} problems"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
