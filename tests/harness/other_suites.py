#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""other_suites.py SUITE…: reads `meson introspect --tests`, prints the suites that are none of these."""
import json
import sys

wanted = set(sys.argv[1:])
found = {suite.split(":")[-1] for test in json.load(sys.stdin) for suite in test["suite"]}
print(*sorted(found - wanted))
