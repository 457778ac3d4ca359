#!/usr/bin/env python3
"""sagabox says what is wrong with a command line and what would be right.

usage: wrong_use_test.py SAGABOX [unittest arguments]
"""

import re
import subprocess
import sys
import unittest

SAGABOX = sys.argv.pop(1)


def sagabox(*arguments):
    return subprocess.run(
        [SAGABOX, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


class CommandLine(unittest.TestCase):
    def test_wrong_use_is_exit_code_two_and_names_what_is_right(self):
        for arguments, complaint, cure in [
            ([], "A subcommand is required", "verbs: demo"),
            (["frobnicate"], '"frobnicate" is not a verb', "verbs: demo"),
            (["staus"], '"staus" is not a verb; did you mean "status"?', "verbs: demo"),
            (["dead", "lst"], '"lst" is not a verb of sagabox dead; did you mean "list"?', "verbs: list, show"),
            (["outbox", "enqeue", "--topic", "a"], 'did you mean "enqueue"?', "sagabox outbox --help"),
            (["serve", "--confg", "x"], 'did you mean "--config"?', "sagabox serve --help"),
            (["config", "check", "--config", "nope.yaml"], "nope.yaml: cannot be read: No such file", ""),
            (["config", "check", "--config", "/"], "it is a folder", ""),
            (["explain", "a b"], "ID: byte 2 is not allowed", "sagabox explain --help"),
            (["demo", "--frobnicate"], "--frobnicate", "sagabox demo --help"),
            (["demo", "more"], "more", "sagabox demo --help"),
            (
                ["demo", "--store", "postgres://db/orders"],
                'store URL "postgres://db/orders"',
                "memory: and sqlite:FILE are built in so far",
            ),
            (["demo", "--store", "memory"], 'store URL "memory"', "memory: and sqlite:FILE"),
            (["demo", "--store", "sqlite:"], 'store URL "sqlite:"', "memory: and sqlite:FILE"),
            (["demo", "--for", "3"], 'duration "3"', "500ms, 3s, 10m or 1h"),
            (["demo", "--for", "3x"], 'duration "3x"', "500ms, 3s, 10m or 1h"),
            (["demo", "--for", "0s"], 'duration "0s"', "500ms, 3s, 10m or 1h"),
            (["demo", "--for", "1.2.3s"], 'duration "1.2.3s"', "500ms, 3s, 10m or 1h"),
            (["demo", "--for", "25h"], 'duration "25h"', "up to 24h"),
            (["demo", "--rate", "0"], 'rate "0"', "from 1 to 1000000"),
            (["demo", "--rate", "-5"], 'rate "-5"', "from 1 to 1000000"),
            (["demo", "--rate", "5/s"], 'rate "5/s"', "whole number"),
            (["demo", "--fail", "101"], 'percent "101"', "from 0 to 100"),
            (["demo", "--fail", "half"], 'percent "half"', "from 0 to 100"),
            (["demo", "--workers", "0"], 'workers "0"', "from 1 to 256"),
            (["demo", "--rate"], "--rate", "sagabox demo --help"),
        ]:
            with self.subTest(arguments=arguments):
                result = sagabox(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertIn(complaint, result.stderr)
                self.assertIn(cure, result.stderr)

    def test_what_was_typed_is_repeated_without_its_secrets(self):
        for arguments in (
            ["demo", "--store", "postgres://me:hunter2@db/orders"],
            ["demo", "--store=postgres://me:hunter2@db/orders"],
            ["demo", "postgres://me:hunter2@db/orders"],
            ["postgres://me:hunter2@db/orders"],
            ["status", "--store", "postgres://me:p@hunter2@127.0.0.1:1/orders"],
            ["status", "--store", "postgres://me:hunter2@127.0.0.1:1/orders?password=hunter2"],
            ["status", "--store", "me:hunter2@db"],
            ["status", "--store", "sqlite://me:hunter2@db/x"],
            ["status", "--server", "http://127.0.0.1:1/?token=hunter2"],
            ["status", "--server", "ftp://u:hunter2"],
            ["doctor", "--transport", "https://u:hunter2@x/"],
            ["doctor", "--transport", "redis://u:hunter2@127.0.0.1:1/"],
            ["migrate", "up", "--store", "postgres://me:p/hunter2@127.0.0.1:1/x", "--table", "t"],
        ):
            with self.subTest(arguments=arguments):
                result = sagabox(*arguments)
                self.assertNotEqual(result.returncode, 0)
                self.assertNotIn("hunter2", result.stdout + result.stderr)

    def test_help_has_examples(self):
        for arguments in (["--help"], ["demo", "--help"]):
            with self.subTest(arguments=arguments):
                result = sagabox(*arguments)
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stdout, r"Examples:\n  sagabox demo")
        self.assertIn("--keys", result.stdout)
        self.assertIn("p pauses and resumes the table", result.stdout)

    def test_version(self):
        result = sagabox("--version")
        self.assertEqual(result.returncode, 0)
        self.assertTrue(re.fullmatch(r"sagabox \d+\.\d+\.\d+\n", result.stdout), result.stdout)


if __name__ == "__main__":
    unittest.main()
