#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the code on purpose, and fails when the tests do not notice.

Each tests/mutants/NAME.patch starts with

    # test: GLOB      the names of the tests that must stop it (see `./x test --list`)
    # guards: …       what goes wrong for a user when the code is like this

and goes on with a unified diff. In a scratch copy of the tree the tests must pass; then each patch is
applied in turn, what its tests need is built, and they are run. A mutant is stopped when a test fails
or a static assertion does. A patch that does not apply, or whose code is no valid program at all,
shows nothing and is a failure as well. Tests named `….nvcc` need nvcc: without it their mutants are
skipped.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MESON = os.environ.get("MESON", "meson")

# What compilers say when a static_assert or solve_or_stop refuses, as against a plain mistake.
REFUSED = re.compile(r"static assertion|unsatisfied::|constant expression|non-constant condition")


class Mutant:
    def __init__(self, path: pathlib.Path):
        self.name = path.stem
        self.path = path
        head = dict(re.findall(r"^# (test|guards): *(\S.*)$", path.read_text(), re.MULTILINE))
        if set(head) != {"test", "guards"}:
            sys.exit(f"{path}: needs the header lines '# test: …' and '# guards: …'")
        self.test = head["test"]
        self.guards = head["guards"]
        self.needs_nvcc = fnmatch.fnmatch(self.test, "*.nvcc")


def run(*command, **more) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
    )


def or_stop(result: subprocess.CompletedProcess) -> str:
    if result.returncode != 0:
        sys.exit(f"{' '.join(result.args)}\n{result.stdout}")
    return result.stdout


class Scratch:
    """A copy of the tree with one build directory, used for every mutant in turn."""

    def __init__(self, place: pathlib.Path, with_nvcc: bool):
        self.source = place / "source"
        self.build = place / "build"
        listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in or_stop(run("git", "-C", ROOT, *listing)).split("\0"):
            if name and (ROOT / name).is_file():
                target = self.source / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
        options = ["-Dtests=enabled", "-Dbench=disabled", "-Ddebug=false", "-Doptimization=1"]
        options += ["-Dcuda=" + ("enabled" if with_nvcc else "disabled")]
        or_stop(run(MESON, "setup", self.build, self.source, *options))
        self.tests = json.loads(or_stop(run(MESON, "introspect", "--tests", self.build)))
        targets = json.loads(or_stop(run(MESON, "introspect", "--targets", self.build)))
        self.files = {target["id"]: target["filename"] for target in targets}

    def matching(self, glob: str) -> list:
        found = [test for test in self.tests if fnmatch.fnmatch(test["name"], glob)]
        if not found:
            sys.exit(f"no test is called {glob}")
        return found

    def compile(self, glob: str) -> subprocess.CompletedProcess:
        files = {f for test in self.matching(glob) for d in test["depends"] for f in self.files[d]}
        targets = sorted(os.path.relpath(f, self.build) for f in files)
        if not targets:  # a test of the sources, or one that calls the compiler itself
            return run("true")
        return run("ninja", "-C", self.build, f"-j{os.cpu_count()}", *targets)

    def test(self, glob: str) -> subprocess.CompletedProcess:
        names = [test["name"] for test in self.matching(glob)]
        return run(MESON, "test", "-C", self.build, "--no-rebuild", "--print-errorlogs", *names)

    def verdict(self, mutant: Mutant) -> tuple:
        """(stopped, how) for one mutant; the tree is as before afterwards."""
        patch = ["git", "apply", "--whitespace=nowarn"]
        listed = run(*patch, "--numstat", mutant.path, cwd=self.source).stdout.splitlines()
        paths = [self.source / line.split("\t")[2] for line in listed if "\t" in line]
        before = {path: path.read_bytes() for path in paths if path.exists()}
        applied = run(*patch, mutant.path, cwd=self.source)
        if applied.returncode != 0:
            return False, "the patch does not apply: " + applied.stdout.strip().splitlines()[0]
        try:
            built = self.compile(mutant.test)
            if built.returncode != 0:
                if REFUSED.search(built.stdout):
                    return True, "a static assertion failed"
                error = re.search(r"error: .*", built.stdout)
                return False, f"is no valid program: {error.group() if error else built.stdout}"
            if self.test(mutant.test).returncode != 0:
                return True, "a test failed"
            return False, "SURVIVED"
        finally:
            # Written anew, not with the old times: else the mutant's objects would look up to date.
            for path, text in before.items():
                path.write_bytes(text)


def check(mutants: list, build: str) -> int:
    """Whether every patch still fits the code and the names of the tests: cheap enough for each run."""
    if shutil.which("git") is None:
        print("git is not installed")
        return 77
    names = [test["name"] for test in json.loads(or_stop(run(MESON, "introspect", "--tests", build)))]
    nvcc = any(name.endswith(".nvcc") for name in names)
    named = [m for m in mutants if nvcc or not m.needs_nvcc]
    faults = [f"{m.name}: no test is called {m.test}" for m in named if not fnmatch.filter(names, m.test)]
    for mutant in mutants:
        applied = run("git", "apply", "--check", mutant.path, cwd=ROOT)
        if applied.returncode != 0:
            faults.append(f"{mutant.name}: {applied.stdout.strip()}")
    print("\n".join(faults) or f"{len(mutants)} mutants apply")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./x mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants (globs)")
    parser.add_argument("--quick", action="store_true", help="only the first mutant of each test")
    parser.add_argument("--check", metavar="BUILD", help="only see that each patch applies, and names a test")
    args = parser.parse_args()

    every = [Mutant(path) for path in sorted((ROOT / "tests/mutants").glob("*.patch"))]
    chosen = [
        m for m in every if not args.names or any(fnmatch.fnmatch(m.name, glob) for glob in args.names)
    ]
    if args.quick:
        chosen = list({m.test: m for m in reversed(chosen)}.values())[::-1]
    if not chosen:
        sys.exit("no mutant of that name" if args.names else "there is no mutant")
    if args.check:
        return check(chosen, args.check)

    if shutil.which("nvcc") is None:
        skipped = [m.name for m in chosen if m.needs_nvcc]
        chosen = [m for m in chosen if not m.needs_nvcc]
        if skipped:
            print(f"without nvcc, skipped: {', '.join(skipped)}", flush=True)
        if not chosen:
            return 77

    with tempfile.TemporaryDirectory() as place:
        scratch = Scratch(pathlib.Path(place), any(m.needs_nvcc for m in chosen))
        for glob in sorted({m.test for m in chosen}):
            for result in (scratch.compile(glob), scratch.test(glob)):
                if result.returncode != 0:
                    sys.exit(f"{glob} does not pass on the code as it is:\n{result.stdout}")
            print(f"{glob} passes on the code as it is", file=sys.stderr)

        width = max(len(m.name) for m in chosen)
        failures = 0
        for mutant in chosen:
            start = time.monotonic()
            stopped, how = scratch.verdict(mutant)
            failures += not stopped
            word = "stopped" if stopped else "FAILED"
            seconds = time.monotonic() - start
            print(f"{mutant.name:{width}}  {word:7}  {seconds:4.0f} s  {mutant.test}: {how}", flush=True)
            if not stopped:
                print(f"{'':{width}}  guards: {mutant.guards}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants stopped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
