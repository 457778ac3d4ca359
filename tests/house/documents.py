#!/usr/bin/env python3
"""Every file that a document links to or names by its path is there.

usage: documents.py PROJECT_ROOT
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PATH = re.compile(r"`((?:bench|cmake|docs|examples|include|src|tests)/[\w./-]*)`")


def main():
    root = Path(sys.argv[1]).resolve()
    documents = sorted(
        [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/*.md")]
    )
    missing, named = [], 0
    for document in documents:
        text = CODE_BLOCK.sub("", document.read_text(encoding="utf-8"))
        targets = [document.parent / link for link in LINK.findall(text)]
        targets += [root / path for path in PATH.findall(text)]
        named += len(targets)
        missing += [
            f"{document.relative_to(root)}: there is no {target.relative_to(root)}"
            for target in (target.resolve() for target in targets)
            if not target.exists()
        ]
    print("\n".join([*missing, f"{len(documents)} documents, {named} paths"]))
    sys.exit(1 if missing or named == 0 else 0)


if __name__ == "__main__":
    main()
