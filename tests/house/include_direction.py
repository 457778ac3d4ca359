#!/usr/bin/env python3
"""Checks who includes whom, and a few rules that keep the rooms of the source tree apart.

usage: include_direction.py PROJECT_ROOT

Prints one line a violation, `file:line: what is wrong`, and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Which rooms a room may see, itself left out. See ARCHITECTURE.md.
BASICS = {"core", "observe", "spi"}
ENGINE_BASE = BASICS | {"ownership", "feed", "flow", "runtime"}
ENGINES = ENGINE_BASE | {"outbox", "routing", "idempotency"}
PROCESSES = ENGINES | {"saga", "delivery"}
SERVING = PROCESSES | {"admin", "wire", "server"}
EVERYTHING = SERVING | {"stores", "transports", "assembly", "testing", "top"}
MAY_SEE = {
    "core": set(),
    "observe": {"core"},
    "spi": {"core", "observe"},
    "ownership": BASICS,
    "feed": BASICS,
    "flow": BASICS,
    "runtime": BASICS | {"ownership", "flow"},
    "stores": BASICS,
    "transports": BASICS,
    "outbox": ENGINE_BASE,
    "routing": ENGINE_BASE,
    "idempotency": ENGINE_BASE,
    "saga": ENGINES,
    "delivery": ENGINES,
    "admin": PROCESSES,
    "wire": PROCESSES | {"admin"},
    "server": PROCESSES | {"admin", "wire"},
    "assembly": SERVING | {"stores", "transports", "top"},
    "cli": EVERYTHING,
    "testing": EVERYTHING - {"testing"},
    "servers": PROCESSES,
    "top": PROCESSES | {"admin"},
}

# Rooms of the installed headers that lie directly in include/sagabox.
PUBLIC_ROOMS = {
    "core": "error result id time random payload message retry delivery records json_schema refused_result owner_view unrouted_topic"
    " idempotency_record saga_record hub_record event_types",
    "observe": "metrics log audit tracing",
    "spi": "store once",
    "flow": "limits held_up",
    "outbox": "outbox",
    "routing": "router",
    "idempotency": "idempotency idempotency_http idempotency_upkeep",
    "saga": "saga_definition saga",
    "delivery": "hub",
    "admin": "admin explanation saga_admin hub_admin",
    "assembly": "open",
    "top": "sagabox",
}
ROOM_OF_HEADER = {
    f"{stem}.hpp": room for room, stems in PUBLIC_ROOMS.items() for stem in stems.split()
}

# What all backends of a room share lies beside their folders.
SHARED = {
    f"transports/{stem}"
    for stem in (
        "broken_pipes courier crew envelope out_buffer pending_parcels room_wait server_url settings stream structured"
        " timed_parcels tls under_way wake"
    ).split()
} | {"stores/schema_findings", "stores/schema_steps", "stores/same_id", "stores/sql"}

# Rooms that must not name a backend: only stores, transports, assembly and cli may.
BACKEND_ROOMS = {"stores", "transports", "assembly", "cli", "testing"}
BACKEND_NAME = re.compile(
    r"sqlite|postgres|libpq|mysql|mariadb|surreal|kafka|rabbitmq|jetstream|mosquitto"
    r"|\bmemory::|\bMemoryStore\b",
    re.IGNORECASE,
)

# Time and randomness are parameters; their sources stand in core.
AMBIENT = re.compile(
    r"\b(?:system_clock|steady_clock|high_resolution_clock)\s*::\s*now\b"
    r"|\bclock_gettime\b|\bgettimeofday\b|\brandom_device\b|\bstd::rand\b"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)


def without_comments(text):
    """Comments blanked, line numbers kept."""

    def blank(match):
        found = match.group(0)
        return "\n" * found.count("\n") if found.startswith("/") else found

    return COMMENT_OR_STRING.sub(blank, text)


class File:
    """A source file and the room it is in; `room` is None when the folder is not known."""

    def __init__(self, root, path):
        self.name = path.relative_to(root).as_posix()
        self.text = without_comments(path.read_text(encoding="utf-8"))
        self.is_public = self.name.startswith("include/")
        self.is_header = path.suffix == ".hpp"
        self.room, self.backend = place(self.name.split("/", 1)[1].removeprefix("sagabox/"))


def place(path):
    """Room of a path below src/ or include/sagabox/, and the backend for stores, transports."""
    parts = path.split("/")
    if len(parts) == 1:
        return ROOM_OF_HEADER.get(path), None
    room = parts[0] if parts[0] in MAY_SEE else None
    backend = parts[1].removesuffix(".hpp").removesuffix(".cpp") if room in ("stores", "transports") else None
    return room, backend


def include_problem(file, bracket, target):
    """What is wrong with this include of `file`, or None."""
    is_ours = bracket == '"' or target.startswith("sagabox/")
    if not is_ours:
        # Adapters to servers that are made with it: who includes one has it.
        if file.room == "servers":
            return None
        if file.is_header and target.startswith("boost/"):
            return f"<{target}>: Boost stays out of headers"
        free = {"stores", "transports"} if file.is_public else MAY_SEE.keys() - {"core"}
        if file.is_header and file.room not in free and not STANDARD_HEADER.match(target):
            return f"<{target}>: headers of {file.room} include the standard library only"
        return None
    if bracket == '"' and file.is_public:
        return f'"{target}": installed headers include others as <sagabox/...>'
    if bracket == '"' and "/" not in target:
        return f'"{target}": write the path from src/, "room/{target}"'
    room, backend = place(target.removeprefix("sagabox/"))
    if room is None:
        return f"{target}: not in a known room; add it to the table in {Path(__file__).name}"
    if room == file.room:
        if backend != file.backend and f"{room}/{backend}" not in SHARED:
            return f"{target}: {file.room}/{file.backend} must not see {room}/{backend}"
        return None
    if room not in MAY_SEE[file.room]:
        return f"{target}: {file.room} must not see {room}"
    return None


def problems_of(file):
    if file.room is None:
        yield 1, f"not in a known room; add it to the table in {Path(__file__).name}"
        return
    for number, line in enumerate(file.text.split("\n"), start=1):
        if include := INCLUDE.match(line):
            if problem := include_problem(file, *include.groups()):
                yield number, problem
        elif file.room not in BACKEND_ROOMS and (name := BACKEND_NAME.search(line)):
            yield number, f'"{name.group(0)}": {file.room} must not name a backend'
        if file.room != "core" and (call := AMBIENT.search(line)):
            yield number, f"{call.group(0)}: only src/core asks the machine; take it as a parameter"


def violations(root):
    """All violations in the tree at `root`, as printable lines, and the number of files seen."""
    paths = [
        path
        for folder in ("include/sagabox", "src")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".hpp", ".cpp")
    ]
    found = [
        f"{file.name}:{number}: {problem}"
        for file in (File(root, path) for path in paths)
        for number, problem in problems_of(file)
    ]
    return found, len(paths)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, files = violations(Path(sys.argv[1]).resolve())
    if files == 0:
        sys.exit(f"no sources below {sys.argv[1]}")
    print("\n".join(found + [f"{files} files, {len(found)} violations"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
