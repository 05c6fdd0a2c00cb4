#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over what a build directory compiles of the project's own sources.

The headers are seen through the generated files that include each of them alone. What many of them
report is printed once.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default="clang-tidy")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="FILE", help="only sources whose path has this in it")
    args = parser.parse_args()

    sources = set()
    for entry in json.loads((args.build / "compile_commands.json").read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if "subprojects" in source.parts:
            continue
        if not args.names or any(name in str(source) for name in args.names):
            sources.add(source)

    def tidy(source: pathlib.Path) -> subprocess.CompletedProcess:
        command = [args.tool, "--quiet", "-p", str(args.build), str(source)]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    seen = set()
    failed = False
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(tidy, sorted(sources)):
            failed |= result.returncode != 0
            # A finding starts with a line `path:line:column: kind: …` and goes on until the next.
            for finding in re.split(r"\n(?=[^\s:]+:\d+:\d+: (?:error|warning))", "\n" + result.stdout):
                finding = finding.strip()
                if finding and finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
            if result.returncode != 0 and not result.stdout:
                print(result.stderr, file=sys.stderr)
    print(f"{len(sources)} sources, {len(seen)} findings", file=sys.stderr)
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
