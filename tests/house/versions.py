#!/usr/bin/env python3
"""The version of the build and the newest one in CHANGELOG.md are the same.

usage: versions.py PROJECT_ROOT BUILD_VERSION
"""

import re
import sys
from pathlib import Path


def main():
    text = (Path(sys.argv[1]) / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (?:\[)?(\d+\.\d+\.\d+)", text, re.MULTILINE)
    if not versions:
        sys.exit('CHANGELOG.md: no heading of the form "## 0.1.0"')
    if versions[0] != sys.argv[2]:
        sys.exit(f"CHANGELOG.md begins with {versions[0]}, CMakeLists.txt says {sys.argv[2]}")
    print(f"version {versions[0]}")


if __name__ == "__main__":
    main()
