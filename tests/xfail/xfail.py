#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xfail.py COMPILE_COMMANDS CONTROL SOURCE: every case of SOURCE must not compile, as it promises.

A case N is an `#if XFAIL == N` section with a comment `expected-error-N {{"regex"}}`. The compiler and
its flags are those of CONTROL in compile_commands.json (g++, clang or nvcc). With no case selected
SOURCE must compile, so that a typo cannot pass for the expected failure; then each case is selected
in turn, and must fail with a diagnostic that its regex finds. White space in diagnostics counts as
one blank, for some compilers wrap their lines.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROMISE = re.compile(r'expected-error-(\d+)\s*\{\{"(.+?)"\}\}')


def flags_of(compile_commands: pathlib.Path, control: pathlib.Path) -> tuple:
    """The command that compiles `control`, without its files, and the directory it runs in."""
    for entry in json.loads(compile_commands.read_text()):
        source = pathlib.Path(entry["directory"]) / entry["file"]
        if source.resolve() == control.resolve():
            break
    else:
        sys.exit(f"{control} is not in {compile_commands}")
    command = shlex.split(entry["command"])
    for flag, words in (("-o", 2), ("-c", 2), ("-MF", 2), ("-MQ", 2), ("-MD", 1), ("ccache", 1)):
        while flag in command:
            at = command.index(flag)
            del command[at : at + words]
    # A warning is not what makes a case fail, nor what stops the whole from compiling.
    unwanted = ("-Werror", "-fdiagnostics-color")
    return [word for word in command if not word.startswith(unwanted)], entry["directory"]


def without_output(command: list) -> list:
    """`command` made to check only, and to print messages without an echo of the source line."""
    tool = pathlib.PurePath(command[0]).name
    if tool.startswith("nvcc"):
        # One pass over one architecture is enough: nvcc's front end reads host code in it as well.
        architectures = re.findall(r"-gencode=arch=compute_(\d+)", " ".join(command))
        command = [word for word in command if not word.startswith("-gencode")]
        brief = ["-Xcudafe", "--brief_diagnostics"]
        return command + ["-ptx", "-o", "/dev/null", f"-arch=sm_{architectures[0]}"] + brief
    is_clang = "clang" in tool
    return command + ["-fsyntax-only"] + (
        ["-fno-caret-diagnostics"] if is_clang else ["-fno-diagnostics-show-caret"]
    )


def main() -> int:
    compile_commands, control, source = map(pathlib.Path, sys.argv[1:])
    text = source.read_text()
    cases = sorted({int(n) for n in re.findall(r"XFAIL\s*==\s*(\d+)", text)})
    promises = [(int(n), regex) for n, regex in PROMISE.findall(text)]
    if not cases or sorted(n for n, _ in promises) != cases:
        print(f"{source}: cases {cases} need exactly one expected-error each: {promises}")
        return 1

    flags, directory = flags_of(compile_commands, control)
    command = without_output(flags) + ["-I", str(source.resolve().parent)]
    with tempfile.TemporaryDirectory() as scratch:
        # Compiled without the promises, so that no message can echo what it is matched against.
        copy = pathlib.Path(scratch) / (source.stem + control.suffix)
        copy.write_text(PROMISE.sub("", text))

        def select(case: int) -> subprocess.CompletedProcess:
            return subprocess.run(
                command + [f"-DXFAIL={case}", str(copy)],
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )

        whole = select(-1)
        if whole.returncode != 0:
            print(f"{source} must compile when no case is selected:\n{whole.stdout}")
            return 1
        failures = 0
        for case, regex in promises:
            result = select(case)
            if result.returncode == 0:
                print(f"case {case} compiled; it promises an error matching {regex!r}")
            elif not re.search(regex, " ".join(result.stdout.split())):
                print(f"case {case}: no diagnostic matches {regex!r}:\n{result.stdout}")
            else:
                print(f"case {case} fails as promised: {regex}")
                continue
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
