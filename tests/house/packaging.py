#!/usr/bin/env python3
"""Checks what is shipped beside the code: alert rules, dashboard, configuration, Debian package.

usage: packaging.py rules PROJECT_ROOT
       packaging.py package PROJECT_ROOT BUILD_DIR

Prints what is wrong and exits with 1; with 77 when a program is missing, whose name it says.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PREFIX = "sagabox_"
SKIPPED = 77
SHIPPED = [
    "./etc/sagabox/sagabox.yaml",
    "./usr/bin/sagabox",
    "./usr/share/bash-completion/completions/sagabox",
    "./usr/share/doc/sagabox/configuration.md",
    "./usr/share/fish/vendor_completions.d/sagabox.fish",
    "./usr/share/zsh/vendor-completions/_sagabox",
    "./usr/lib/systemd/system/sagabox.service",
    "./usr/share/man/man1/sagabox.1",
    "./usr/share/sagabox/alerts.yml",
    "./usr/share/sagabox/sagabox.json",
]


def known_metrics(root: Path) -> set[str]:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", (root / "docs/metrics.md").read_text(), re.M)
    names = {PREFIX + name for name, _ in rows}
    for name, kind in rows:
        if kind == "histogram":
            names |= {f"{PREFIX}{name}_{part}" for part in ("bucket", "sum", "count")}
    return names


def unknown_metrics(root: Path) -> list[str]:
    known = known_metrics(root)
    problems = []
    for file in ("packaging/prometheus/alerts.yml", "packaging/grafana/sagabox.json"):
        used = set(re.findall(rf"\b{PREFIX}\w+", (root / file).read_text()))
        if not used:
            problems.append(f"{file}: names no metric")
        problems += [f"{file}: {name} is no metric of docs/metrics.md" for name in used - known]
    return problems


def run(*command: str, cwd: Path | None = None) -> list[str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"{' '.join(command)}:\n{done.stdout}{done.stderr}"]


def package(build: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        if failed := run("cpack", "-G", "DEB", "-B", folder, cwd=build):
            return failed
        made = list(Path(folder).glob("*.deb"))
        if len(made) != 1:
            return [f"cpack made {[file.name for file in made]}, one package was expected"]
        listed = subprocess.run(
            ["dpkg-deb", "--contents", str(made[0])], capture_output=True, text=True, check=True
        ).stdout
        problems = [f"{made[0].name}: {file} is missing" for file in SHIPPED if file not in listed]
        return problems + rights(made[0], listed)


def rights(deb: Path, listed: str) -> list[str]:
    """The configuration may hold passwords: it is for root and the service only."""
    problems = []
    lines = [line for line in listed.splitlines() if line.endswith("/etc/sagabox/sagabox.yaml")]
    if not lines or not lines[0].startswith("-rw-r----- root/root"):
        problems.append(f"{deb.name}: sagabox.yaml must have mode 0640: {lines}")
    script = subprocess.run(
        ["dpkg-deb", "--info", str(deb), "postinst"], capture_output=True, text=True, check=False
    ).stdout
    for said in ("chown root:sagabox", "chmod 0640"):
        if said not in script:
            problems.append(f"{deb.name}: postinst does not say: {said}")
    return problems


def rules(root: Path) -> list[str]:
    json.loads((root / "packaging/grafana/sagabox.json").read_text())
    alerts = str(root / "packaging/prometheus/alerts.yml")
    return unknown_metrics(root) + run("promtool", "check", "rules", alerts)


# What a review missed in files that no test starts.
SAID = {
    "packaging/kubernetes/sagabox.yaml": "seccompProfile: { type: RuntimeDefault }",
    "packaging/docker/Dockerfile": "\nHEALTHCHECK ",
    "packaging/debian/sagabox.yaml": "/usr/share/doc/sagabox/configuration.md",
}


def unsaid(root: Path) -> list[str]:
    return [f"{file}: {text.strip()} is missing" for file, text in SAID.items() if text not in (root / file).read_text()]


def shipped(root: Path, build: Path) -> list[str]:
    configuration = str(root / "packaging/debian/sagabox.yaml")
    unit = (root / "packaging/systemd/sagabox.service").read_text()
    if "\nLimitCORE=0\n" not in unit:
        return ["sagabox.service: LimitCORE=0 is missing: a core file would hold secrets"]
    if missing := unsaid(root):
        return missing
    return run(str(build / "sagabox"), "config", "check", "--config", configuration) + package(build)


def main() -> int:
    what, *folders = sys.argv[1:]
    needed = {"rules": ["promtool"], "package": ["dpkg-shlibdeps", "file"]}[what]
    if missing := [program for program in needed if not shutil.which(program)]:
        print(f"skipped: {', '.join(missing)} not found")
        return SKIPPED
    problems = (rules if what == "rules" else shipped)(*map(Path, folders))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
