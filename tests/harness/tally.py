#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts one `meson test` run: prints `PASSED FAILED SKIPPED`, the failed tests on standard error.

A log that is missing counts nothing. With --must-run GLOB it is a failure of its own when no test of
such a name passed, or one was skipped.
"""
import argparse
import fnmatch
import json
import pathlib
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def test_name(entry: dict) -> str:
    """Old Mesons log `project:suite / name`, new ones `suite - project:name`."""
    return re.split(r" / | - \w+:", entry["name"])[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--must-run", action="append", default=[], metavar="GLOB")
    args = parser.parse_args()

    lines = args.log.read_text().splitlines() if args.log.exists() else []
    entries = [json.loads(line) for line in lines if line.strip()]
    passed = sum(entry["result"] in PASSED for entry in entries)
    skipped = sum(entry["result"] in SKIPPED for entry in entries)
    failed = len(entries) - passed - skipped

    for entry in entries:
        if entry["result"] not in PASSED | SKIPPED:
            print(f"{entry['result'].lower()}: {entry['name']}", file=sys.stderr)
    for glob in args.must_run:
        results = [e["result"] for e in entries if fnmatch.fnmatch(test_name(e), glob)]
        if not any(r in PASSED for r in results) or any(r in SKIPPED for r in results):
            print(f"{glob} must run, and none of it may be skipped", file=sys.stderr)
            failed += 1

    print(passed, failed, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
