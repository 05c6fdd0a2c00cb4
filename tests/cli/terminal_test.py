# SPDX-License-Identifier: Apache-2.0
"""Colours: on a terminal, unless NO_COLOR or a dumb terminal says otherwise; never in a pipe."""

import os
import pty
import re
import subprocess
import unittest

import allot_cli
from allot_cli import run

FITS = ["plan", "Qwen--Qwen3-30B-A3B.json", "--free", "24GiB", "--context", "64k"]
SHORT = ["plan", "Qwen--Qwen3-30B-A3B.json", "--free", "1GiB"]


def on_terminal(args, **env):
    """What the command prints to a terminal."""
    ours, theirs = pty.openpty()
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    done = subprocess.Popen([allot_cli.ALLOT, *args], stdout=theirs, cwd=allot_cli.MODELS,
                            env={**base, "TERM": "xterm", **env})
    os.close(theirs)
    out = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        out += chunk
    os.close(ours)
    done.wait(timeout=60)
    return out.decode().replace("\r\n", "\n")


class Terminal(unittest.TestCase):
    def test_colours_on_a_terminal_only(self):
        for args in (FITS, SHORT):
            piped = run(*args).out
            self.assertNotIn("\033", piped)
            coloured = on_terminal(args)
            self.assertIn("\033[1;32mfits" if args is FITS else "\033[1;31mdoes not fit", coloured)
            self.assertEqual(re.sub(r"\033\[[0-9;]*m", "", coloured), piped)

    def test_no_color_and_dumb_terminals_are_honoured(self):
        self.assertNotIn("\033", on_terminal(FITS, NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal(FITS, TERM="dumb"))
        self.assertIn("\033", on_terminal(FITS, NO_COLOR=""))

    def test_json_is_never_coloured(self):
        self.assertNotIn("\033", on_terminal([*FITS, "--json"]))


if __name__ == "__main__":
    allot_cli.start()
