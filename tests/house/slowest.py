#!/usr/bin/env python3
"""The slowest tests of a ctest run, and how long all took, from what `ctest --output-junit` wrote.

usage: slowest.py FILE
"""

import sys
import xml.etree.ElementTree as ElementTree

COUNT = 10


def slowest(text):
    """Printable lines; none where nothing ran."""
    cases = [
        (float(case.get("time", "0")), case.get("name", "?"))
        for case in ElementTree.fromstring(text).iter("testcase")
        if case.get("status") in ("run", "fail")
    ]
    if not cases:
        return []
    total = sum(seconds for seconds, _ in cases)
    first = sorted(cases, reverse=True)[:COUNT]
    lines = [f"The slowest of {len(cases)} tests, which took {total:.0f} s one after the other:"]
    return lines + [f"  {seconds:7.1f} s  {name}" for seconds, name in first]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        print("\n".join(slowest(file.read())))
