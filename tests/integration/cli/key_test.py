#!/usr/bin/env python3
"""sagabox key makes, lists and revokes API keys.

usage: key_test.py SAGABOX [unittest arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SAGABOX = os.path.abspath(sys.argv.pop(1))


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def key(self, *arguments):
        return subprocess.run(
            [SAGABOX, "key", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.folder,
        )

    def test_made_listed_and_revoked(self):
        made = self.key("create", "--name", "shop", "--role", "operate", "--tenant", "acme")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"^sbx_[0-9A-Za-z]{8}_[0-9A-Za-z]{40}\n$")
        secret = made.stdout.strip()
        identity = secret[4:12]
        path = os.path.join(self.folder, "sagabox.keys")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as file:
            self.assertNotIn(secret[13:], file.read())
        self.assertRegex(self.key("list").stdout, rf"{identity} +operate +no +acme +since .* shop\n")
        revoked = self.key("revoke", identity)
        self.assertEqual(revoked.returncode, 0, revoked.stderr)
        listed = json.loads(self.key("list", "--json").stdout)
        self.assertEqual(listed["id"], identity)
        self.assertIn("revoked_at", listed)
        again = self.key("revoke", identity)
        self.assertEqual(again.returncode, 1)
        self.assertIn("was revoked at", again.stderr)

    def test_wrong_use_says_what_is_right(self):
        for arguments, complaint in [
            (["create"], "--name is required"),
            (["create", "--name", "a", "--role", "boss"], "give read, operate or admin"),
            (["revoke"], "ID is required"),
            ([], "A subcommand is required"),
        ]:
            with self.subTest(arguments=arguments):
                result = self.key(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(complaint, result.stderr)


if __name__ == "__main__":
    unittest.main()
