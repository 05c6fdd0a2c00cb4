#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts one `meson test` run: prints `PASSED FAILED SKIPPED`, the failed tests on standard error.

A log that is missing counts nothing; with --must-run SUITE, a suite without a passed test, or with a
skipped one, is a failure of its own.
"""
import argparse
import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def suites(entry: dict) -> set:
    """The suites of a test: the log writes each as `project:suite`."""
    return {name.split(":")[-1] for name in entry.get("suite", [])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--must-run", action="append", default=[], metavar="SUITE")
    args = parser.parse_args()

    lines = args.log.read_text().splitlines() if args.log.exists() else []
    entries = [json.loads(line) for line in lines if line.strip()]
    passed = sum(entry["result"] in PASSED for entry in entries)
    skipped = sum(entry["result"] in SKIPPED for entry in entries)
    failed = len(entries) - passed - skipped

    for entry in entries:
        if entry["result"] not in PASSED | SKIPPED:
            print(f"{entry['result'].lower()}: {entry['name']}", file=sys.stderr)
    for suite in args.must_run:
        results = [entry["result"] for entry in entries if suite in suites(entry)]
        if not any(r in PASSED for r in results) or any(r in SKIPPED for r in results):
            print(f"suite {suite} must run, and none of it may be skipped", file=sys.stderr)
            failed += 1

    print(passed, failed, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
