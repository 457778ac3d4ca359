"""A folder with a configuration in it, and a daemon that is started there. The script that imports this
has the binary as its first argument.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SAGABOX = str(Path(sys.argv.pop(1)).resolve())
PATIENCE = 60  # seconds; only a failure takes so long
CLEAN = {name: text for name, text in os.environ.items() if not name.startswith("SAGABOX_")}


def eventually(what, found):
    limit = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > limit:
            raise AssertionError(what if isinstance(what, str) else what())
        time.sleep(0.02)
    return value


class FolderTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sagabox-serve-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "sagabox.yaml"
        self.daemon = None

    def tearDown(self):
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()

    def sagabox(self, *arguments, **environment):
        return subprocess.run(
            [SAGABOX, *arguments],
            cwd=self.folder,
            env={**CLEAN, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def serve(self, *arguments, **environment):
        with open(self.folder / "out", "ab") as out, open(self.folder / "err", "ab") as err:
            self.daemon = subprocess.Popen(
                [SAGABOX, "serve", *arguments],
                cwd=self.folder,
                # A port that is free: tests run side by side.
                env={**CLEAN, "SAGABOX_LISTEN": "127.0.0.1:0", **environment},
                stdout=out,
                stderr=err,
            )
        self.wait_for("out", r"shards? owned")

    def said(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait_for(self, name, pattern, times=1):
        def found():
            self.assertIsNone(self.daemon.poll(), self.said("err"))
            return len(re.findall(pattern, self.said(name))) >= times

        eventually(lambda: f"{pattern} in {name}: {self.said('out')} {self.said('err')}", found)

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(PATIENCE), 0, self.said("err"))

    def address(self):
        """host:port of the REST API, as it said at its start."""
        return re.search(r"http://(127\.0\.0\.1:\d+) ", self.said("out")).group(1)
