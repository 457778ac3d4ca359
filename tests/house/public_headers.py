#!/usr/bin/env python3
"""Every installed header was compiled alone: each has an object that is newer than itself.

usage: public_headers.py INCLUDE_DIR OBJECT_DIR [LEFT_OUT...]

LEFT_OUT are headers that need a library this machine does not have.
"""

import sys
from pathlib import Path


def main():
    include, objects, left_out = Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:])
    headers = sorted(path.relative_to(include) for path in include.rglob("*.hpp"))
    compiled = {path.name: path for path in objects.rglob("*.o")}
    missing = []
    for header in headers:
        if header.as_posix() in left_out:
            print(f"left out, its library is not installed: <{header.as_posix()}>")
            continue
        built = compiled.get("_".join(header.parts) + ".cpp.o")
        stale = built is None or built.stat().st_mtime < (include / header).stat().st_mtime
        print(f"{'NOT COMPILED' if stale else 'compiles alone'}: <{header.as_posix()}>")
        missing += [header] if stale else []
    if missing or not headers:
        sys.exit(f"{len(missing)} of {len(headers)} headers were not compiled; build first")


if __name__ == "__main__":
    main()
