#!/usr/bin/env python3
"""All sources are as clang-format would write them; `./dev format` mends them.

usage: formatting.py PROJECT_ROOT CLANG_FORMAT
"""

import subprocess
import sys
from pathlib import Path

FOLDERS = ["include", "src", "tests", "bench", "examples"]


def main():
    root = Path(sys.argv[1])
    files = [
        path
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".hpp", ".cpp")
    ]
    check = [sys.argv[2], "--dry-run", "-Werror", *map(str, files)]
    if not files or subprocess.run(check, check=False).returncode != 0:
        sys.exit("some sources are formatted differently; run ./dev format")
    print(f"{len(files)} files")


if __name__ == "__main__":
    main()
