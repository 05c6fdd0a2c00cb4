#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""matching_tests.py GLOB: of `meson introspect --tests` on standard input, the names that match, one a
line; the glob itself when none does, so that `meson test` says so."""
import fnmatch
import json
import sys

glob = sys.argv[1]
names = dict.fromkeys(test["name"] for test in json.load(sys.stdin))
print("\n".join(fnmatch.filter(names, glob)) or glob)
