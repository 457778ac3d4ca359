#!/usr/bin/env python3
"""./dev says what it can do, and says so when asked for something else.

usage: dev_script_test.py PROJECT_ROOT
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
DEV = ROOT / "dev"
VERBS = ["setup", "build", "run", "test", "bench", "torture", "fuzz", "lint", "format", "help"]


def dev(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [DEV, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


FAKE_DPKG_QUERY = """#!/bin/sh
for last; do :; done
case " $NOT_INSTALLED " in *" $last "*) exit 1 ;; *) printf installed ;; esac
"""
FAKE_APT_GET = """#!/bin/sh
echo "$*" >> "$APT_LOG"
[ -z "$APT_FAILS" ] || { echo "E: no such package"; exit 100; }
"""


def setup_with_fake_apt(not_installed, apt_fails=""):
    """Runs `./dev setup` where apt only takes notes; returns the result and the notes."""
    with tempfile.TemporaryDirectory() as folder:
        for tool, text in [
            ("dpkg-query", FAKE_DPKG_QUERY),
            ("apt-get", FAKE_APT_GET),
            ("sudo", '#!/bin/sh\nexec "$@"\n'),
            ("npm", "#!/bin/sh\n"),
        ]:
            (Path(folder) / tool).write_text(text)
            (Path(folder) / tool).chmod(0o755)
        log = Path(folder) / "log"
        result = dev(
            "setup",
            PATH=f"{folder}:{os.environ['PATH']}",
            APT_LOG=str(log),
            APT_FAILS=apt_fails,
            NOT_INSTALLED=not_installed,
            SAGABOX_NO_SETUP="",
        )
        return result, log.read_text() if log.exists() else ""


class DevScript(unittest.TestCase):
    def test_scripts_are_valid_bash_and_executable(self):
        for script in (DEV, ROOT / ".ci/run"):
            subprocess.run(["bash", "-n", script], check=True)
            self.assertTrue(os.access(script, os.X_OK), script)

    def test_help_names_exactly_the_verbs_that_exist(self):
        told = re.findall(r"^  ([a-z]+)", dev("help").stdout, re.MULTILINE)
        self.assertEqual(sorted(set(told)), sorted(VERBS))
        defined = re.findall(r"^verb_([a-z]+)\(\)", DEV.read_text(), re.MULTILINE)
        self.assertEqual(sorted([*defined, "help"]), sorted(VERBS))

    def test_no_verb_is_help(self):
        self.assertEqual(dev().stdout, dev("help").stdout)
        self.assertEqual(dev().returncode, 0)

    def test_wrong_use_is_an_error_that_shows_what_would_be_right(self):
        for arguments, complaint in [
            (["frobnicate"], 'unknown verb "frobnicate"'),
            (["build", "fast"], 'unknown preset "fast"'),
            (["build", "release", "tsan"], "build takes one preset"),
            (["test", "units"], 'unknown label or option "units"'),
            (["test", "--fast"], 'unknown label or option "--fast"'),
            (["test", "--repeat", "often", "unit"], "--repeat needs a number, got: often"),
            (["test", "--repeat", "2"], "--repeat needs a label"),
            (["test", "--asan", "soak"], "soak is not run under ASan"),
            (["test", "--tsan", "unit", "house"], "house is not run under TSan"),
            (["torture", "many"], '"many" is neither a seed'),
            (["torture", "9-3"], '"9-3" is neither a seed'),
            (["torture", "crash", "all"], '"all" is neither a seed'),
            (["torture", "saga", "all"], '"all" is neither a seed'),
            (["torture", "long", "1-9"], "torture long takes no seeds, got: 1-9"),
            (["test", "--tsan", "crash"], "crash is not run under TSan"),
            (["lint", "src"], "lint takes only --all"),
            (["setup", "all"], "setup takes no arguments"),
            (["format", "src"], "format takes no arguments"),
        ]:
            with self.subTest(arguments=arguments):
                result = dev(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(complaint, result.stderr)
                self.assertIn("usage: ./dev VERB", result.stderr)

    def test_every_long_form_is_run(self):
        suite = re.compile(r"^(?:TEST_[FP]|TEST)\((\w+),", re.MULTILINE)
        listed = DEV.read_text().split("long_forms=(", 1)[1].split("\n)", 1)[0]
        listed = dict(entry.split(":", 1) for entry in re.findall(r'"(.+)"', listed))
        for file in sorted((ROOT / "tests").rglob("*_test.cpp")):
            text = file.read_text(encoding="utf-8")
            if "short_or_long(" not in text:
                continue
            folder = file.relative_to(ROOT / "tests").parts[0]
            named = [name for name in set(suite.findall(text)) if name in listed.get(folder, "")]
            self.assertTrue(named, f"no suite of {file} is in long_forms of ./dev")

    def test_works_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory(prefix="with space ") as folder:
            self.assertEqual(dev("help", cwd=folder).returncode, 0)
            link = Path(folder) / "dev link"
            link.symlink_to(DEV)
            result = subprocess.run([link, "help"], capture_output=True, check=True)
            self.assertIn(b"usage", result.stdout)

    def test_without_apt_names_the_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            for tool in ("bash", "dirname", "readlink", "nproc"):
                found = subprocess.check_output(["which", tool], text=True).strip()
                (Path(folder) / tool).symlink_to(found)
            result = dev("setup", PATH=folder, SAGABOX_NO_SETUP="")
        self.assertEqual(result.returncode, 1)
        for package in ("cmake", "libboost-json1.81-dev", "libgtest-dev", "SAGABOX_NO_SETUP"):
            self.assertIn(package, result.stderr)

    def test_setup_is_silent_when_nothing_is_missing(self):
        result, calls = setup_with_fake_apt(not_installed="")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(calls, "")

    def test_setup_installs_only_what_is_missing_and_removes_nothing(self):
        result, calls = setup_with_fake_apt(not_installed="libspdlog-dev libgtest-dev")
        self.assertEqual(result.returncode, 0, result.stderr)
        install = [line for line in calls.splitlines() if line.startswith("install")]
        self.assertEqual(len(install), 1, calls)
        self.assertTrue(install[0].endswith(" libspdlog-dev libgtest-dev"), install)
        self.assertIn("--no-remove", install[0])

    def test_setup_that_fails_says_what_could_not_be_installed(self):
        result, _ = setup_with_fake_apt(not_installed="libspdlog-dev", apt_fails="yes")
        self.assertEqual(result.returncode, 1)
        self.assertIn("E: no such package", result.stderr)
        self.assertIn("could not install: libspdlog-dev", result.stderr)

    def test_ci_runs_what_the_readme_says(self):
        self.assertIn('/../dev" test', (ROOT / ".ci/run").read_text())
        readme = (ROOT / "README.md").read_text()
        for command in ("./dev run", "./dev test"):
            self.assertIn(command, readme)


if __name__ == "__main__":
    unittest.main()
