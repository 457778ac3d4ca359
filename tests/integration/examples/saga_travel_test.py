#!/usr/bin/env python3
"""The daemon and companies in Node, as examples/saga-travel/run.sh starts them.

usage: saga_travel_test.py SAGABOX [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

SAGABOX = str(Path(sys.argv.pop(1)).resolve())
SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "saga-travel" / "run.sh"
CLEAN = {name: text for name, text in os.environ.items() if not name.startswith("SAGABOX_")}


@unittest.skipUnless(shutil.which("node"), "node is not installed; ./dev setup does it")
class SagaTravel(unittest.TestCase):
    def run_script(self, *arguments, **environment):
        """What it showed of the saga, and what the companies were asked."""
        result = subprocess.run(
            [SCRIPT, *arguments],
            env={**CLEAN, "SAGABOX": SAGABOX, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        shown, asked = result.stdout.split("\nwhat the companies were asked:\n")
        return shown, asked.splitlines()

    def test_all_three_are_booked(self):
        shown, asked = self.run_script()
        self.assertIn("travel v1 · completed", shown)
        self.assertIn("by key trip-77", shown)
        self.assertEqual(asked, ["flight book: 200", "hotel book: 200", "car book: 200"])

    def test_without_a_car_the_other_two_are_undone(self):
        shown, asked = self.run_script("no-car")
        self.assertIn("travel v1 · cancelled", shown)
        self.assertRegex(shown, r"✓ flight .* → undone")
        self.assertRegex(shown, r"✓ hotel .* → undone")
        self.assertRegex(shown, r"✗ car .*422")
        self.assertEqual(asked[2:], ["car book: 422", "hotel cancel: 200", "flight cancel: 200"])

    def test_lost_answers_change_nothing(self):
        shown, asked = self.run_script("no-car", LOST_ANSWERS="2")
        self.assertIn("travel v1 · cancelled", shown)
        first = Counter(line.split(":")[0] for line in asked if "as before" not in line)
        # Nobody knows of the car whether the answer that was lost was a yes: it is undone, too.
        acts = ["flight book", "hotel book", "car book", "car cancel", "hotel cancel", "flight cancel"]
        self.assertEqual(first, Counter(acts), asked)
        self.assertGreater(len(asked), len(acts), "some were asked again")


if __name__ == "__main__":
    unittest.main()
