#!/usr/bin/env python3
"""An installed sagabox is found, built against and run by a project that has nothing but it.

usage: consumer_test.py PROJECT_ROOT BUILD_DIR WORK_DIR

Builds tests/house/consumer and the C++ example of README.md against a fresh install.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path


def run(*command):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, timeout=600)


def cache_entry(build, name):
    text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(rf"^{name}:[A-Z]+=(.*)$", text, re.MULTILINE).group(1)


def readme_example(root):
    blocks = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text("utf-8"), re.DOTALL)
    whole = [block for block in blocks if "int main(" in block]
    if len(whole) != 1:
        sys.exit(f"README.md: expected one complete C++ program, found {len(whole)}")
    return whole[0]


def main():
    root, build, work = (Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    example = work / "readme.cpp"
    example.write_text(readme_example(root), encoding="utf-8")

    prefix = work / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    run(
        *("cmake", "-G", "Ninja", "-S", root / "tests/house/consumer", "-B", work / "build"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={cache_entry(build, 'CMAKE_CXX_COMPILER')}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Werror",
        "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
        f"-DREADME_EXAMPLE={example}",
    )
    run("cmake", "--build", work / "build")
    run(work / "build/consumer")
    run(work / "build/readme")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
