"""Wrong use of the public headers does not compile, and the compiler says what to write instead.

usage: hints.py COMPILER INCLUDE_FOLDER
"""

import subprocess
import sys

START = "#include <sagabox/message.hpp>\nsagabox::NewMessage made() { return {.topic = \"a\", .payload = "
END = "}; }\n"
HINT = "a payload is sagabox::json(text) or sagabox::bytes(text), not a text alone"

# What stands behind `.payload = `, and whether it compiles.
CASES = [
    ('sagabox::json("{}")', True),
    ('sagabox::bytes("abc")', True),
    ("{}", True),
    ('"{}"', False),
    ('std::string("{}")', False),
    ('std::string_view("{}")', False),
]


def main():
    compiler, include = sys.argv[1:]
    failures = []
    for payload, compiles in CASES:
        run = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", "-I", include, "-x", "c++", "-"],
            input=START + payload + END,
            capture_output=True,
            text=True,
        )
        if (run.returncode == 0) != compiles:
            failures.append(f"{payload}: {'does not compile' if compiles else 'compiles'}\n{run.stderr}")
        elif not compiles and HINT not in run.stderr:
            failures.append(f"{payload}: no hint\n{run.stderr}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
