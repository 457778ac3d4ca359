#!/usr/bin/env python3
"""The include check finds what it is there to find, and lets a clean tree pass."""

import tempfile
import unittest
from pathlib import Path

from include_direction import MAY_SEE, violations

CLEAN = {
    "include/sagabox/error.hpp": "#include <string>\n",
    "include/sagabox/log.hpp": "#include <sagabox/error.hpp>\n",
    "include/sagabox/store.hpp": "#include <sagabox/spi/outbox_store.hpp>\n",
    "include/sagabox/spi/outbox_store.hpp": "/// As postgres does.\n#include <sagabox/error.hpp>\n",
    "include/sagabox/outbox.hpp": "#include <sagabox/log.hpp>\n#include <sagabox/store.hpp>\n",
    "include/sagabox/sagabox.hpp": "#include <sagabox/outbox.hpp>\n",
    "include/sagabox/stores/postgres.hpp": "#include <libpq-fe.h>\n#include <sagabox/store.hpp>\n",
    "include/sagabox/testing/world.hpp": "#include <sagabox/stores/postgres.hpp>\n",
    "src/core/clock.cpp": "auto now = std::chrono::system_clock::now();\n",
    "src/core/json.cpp": "#include <boost/json.hpp>\n#include <sagabox/error.hpp>\n",
    "src/ownership/worker.hpp": "#include <sagabox/spi/outbox_store.hpp>\n#include <memory>\n",
    "src/outbox/relay.cpp": '#include "ownership/worker.hpp"\n#include "outbox/relay.hpp"\n',
    "src/outbox/relay.hpp": "/* sqlite:: */ int x = 0; // system_clock::now\n",
    "src/stores/postgres/store.cpp": '#include "stores/postgres/driver/pool.hpp"\nint postgres = 1;\n',
    "src/stores/postgres/driver/pool.hpp": "#include <libpq-fe.h>\n",
    "src/cli/main.cpp": '#include <sagabox/stores/postgres.hpp>\n#include "outbox/relay.hpp"\n',
}

# One file that breaks one rule, and what the report must contain.
BROKEN = [
    ("src/core/a.cpp", "#include <sagabox/log.hpp>\n", "core must not see observe"),
    ("src/ownership/a.cpp", '\n#include "outbox/relay.hpp"\n', "ownership must not see outbox"),
    ("src/ownership/a.cpp", '#include "flow/a.hpp"\n', "ownership must not see flow"),
    ("src/outbox/a.cpp", "#include <sagabox/stores/postgres.hpp>\n", "outbox must not see stores"),
    ("src/outbox/a.cpp", '#include "saga/a.hpp"\n', "outbox must not see saga"),
    ("src/stores/postgres/a.cpp", '#include "outbox/relay.hpp"\n', "stores must not see outbox"),
    ("src/stores/postgres/a.cpp", '#include "stores/sqlite/a.hpp"\n', "must not see stores/sqlite"),
    ("src/transports/nats/a.cpp", '#include "stores/sqlite/a.hpp"\n', "must not see stores"),
    ("include/sagabox/spi/a.hpp", "#include <sagabox/outbox.hpp>\n", "spi must not see outbox"),
    ("include/sagabox/error.hpp", "#include <fmt/core.h>\n", "standard library only"),
    ("include/sagabox/log.hpp", "#include <spdlog/spdlog.h>\n", "standard library only"),
    ("include/sagabox/log.hpp", '#include "observe/a.hpp"\n', "<sagabox/...>"),
    ("include/sagabox/testing/a.hpp", '#include "outbox/relay.hpp"\n', "<sagabox/...>"),
    ("src/core/a.hpp", "#include <openssl/sha.h>\n", "standard library only"),
    ("src/observe/a.hpp", "#  include <boost/json.hpp>\n", "Boost stays out of headers"),
    ("src/stores/postgres/a.hpp", "#include <boost/asio.hpp>\n", "Boost stays out of headers"),
    ("src/outbox/a.cpp", '#include "relay.hpp"\n', "write the path from src/"),
    ("src/outbox/a.cpp", 'auto s = "postgres://";\n', "must not name a backend"),
    ("src/flow/a.cpp", "memory::MemoryStore s;\n", "must not name a backend"),
    ("src/outbox/a.cpp", "auto t = std::chrono::system_clock::now();\n", "only src/core"),
    ("src/cli/a.cpp", "auto t = std::chrono::steady_clock :: now();\n", "only src/core"),
    ("src/stores/postgres/a.cpp", "std::random_device d;\n", "only src/core"),
    ("src/outbox/a.cpp", "clock_gettime(CLOCK_BOOTTIME, &t);\n", "only src/core"),
    ("src/utils/a.cpp", "\n", "not in a known room"),
    ("src/outbox/a.cpp", '#include "utils/a.hpp"\n', "not in a known room"),
    ("include/sagabox/surprise.hpp", "\n", "not in a known room"),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return violations(root)


class IncludeDirection(unittest.TestCase):
    def test_clean_tree_passes(self):
        found, files = check(CLEAN)
        self.assertEqual(found, [])
        self.assertEqual(files, len(CLEAN))

    def test_every_broken_rule_is_caught(self):
        for name, text, expected in BROKEN:
            with self.subTest(file=name, text=text):
                found, _ = check({**CLEAN, name: text})
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{name}:"), found)
                self.assertIn(expected, found[0])

    def test_line_number_survives_block_comments(self):
        found, _ = check({"src/core/a.cpp": '/* one\n two */\n#include "outbox/a.hpp"\n'})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/core/a.cpp:3:"), found)

    def test_rooms_have_no_cycle(self):
        for room, visible in MAY_SEE.items():
            self.assertNotIn(room, visible)
            for other in visible:
                self.assertNotIn(room, MAY_SEE[other], f"{room} and {other} see each other")


if __name__ == "__main__":
    unittest.main()
