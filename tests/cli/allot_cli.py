# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: running it, and the published models."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

ALLOT = None
MODELS = None
PLANNED = {"gqa", "mla", "mla_dsa", "linear_hybrid"}


def start():
    """Takes the command and the folder of models from the command line, then runs the tests."""
    global ALLOT, MODELS
    ALLOT = str(Path(sys.argv[1]).resolve())
    MODELS = Path(sys.argv[2]).resolve()
    main = sys.modules["__main__"]
    sys.modules["allot_cli"].ALLOT = ALLOT
    sys.modules["allot_cli"].MODELS = MODELS
    unittest.main(module=main, argv=[sys.argv[0]] + sys.argv[3:])


def run(*args, text=None, env=None, cwd=None):
    """Runs the command. A signal (a crash) fails at once; 0, 1 and 2 are the only exit statuses."""
    done = subprocess.run(
        [ALLOT, *[str(a) for a in args]],
        input=text,
        capture_output=True,
        cwd=cwd or MODELS,
        env={**os.environ, **(env or {})},
        timeout=120,
    )
    assert done.returncode in (0, 1, 2), f"{args}: exit {done.returncode}\n{done.stderr!r}"
    done.out = done.stdout.decode()
    done.err = done.stderr.decode()
    return done


def index():
    return json.loads((MODELS / "index.json").read_text())["models"]


def planned():
    return [m for m in index() if m["facts"]["family"] in PLANNED]
