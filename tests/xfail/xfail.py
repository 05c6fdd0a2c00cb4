#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xfail.py COMPILE_COMMANDS CONTROL SOURCE: every case of SOURCE must not compile, as it promises.

A case N is an `#if XFAIL == N` section with a comment `expected-error-N {{"regex"}}`. The compiler and
its flags are those of CONTROL in compile_commands.json (g++, clang or nvcc). With no case selected
SOURCE must compile, so that a typo cannot pass for the expected failure; then each case is selected
in turn, and must fail with a diagnostic that its regex finds. Lines of SOURCE that the compiler echoes
do not count, and white space counts as one blank, for some compilers wrap their lines.
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
    if pathlib.PurePath(command[0]).name == "ccache":
        del command[0]
    for flag, words in (("-o", 2), ("-c", 2), ("-MF", 2), ("-MQ", 2), ("-MT", 2), ("-MD", 1)):
        while flag in command:
            at = command.index(flag)
            del command[at : at + words]
    # A warning is not what makes a case fail, nor what stops the whole from compiling.
    unwanted = ("-Werror", "-Xcompiler=-Werror", "-fdiagnostics-color", "-fcolor-diagnostics")
    return [word for word in command if not word.startswith(unwanted)], entry["directory"]


def without_output(command: list) -> list:
    """`command` made to check only."""
    if not pathlib.PurePath(command[0]).name.startswith("nvcc"):
        return command + ["-fsyntax-only"]
    # One pass over one architecture is enough: nvcc's front end reads host code in it as well.
    architectures = re.findall(r"-gencode=arch=compute_(\d+)", " ".join(command))
    command = [word for word in command if not word.startswith("-gencode")]
    return command + ["-ptx", "-o", "/dev/null", f"-arch=sm_{architectures[0]}"]


def said(output: str, text: str) -> str:
    """What the compiler itself said: its output less the lines of `text` that it echoes."""
    echoes = {line.strip() for line in text.splitlines()}
    lines = (re.sub(r"^ *\d* \|", "", line).strip() for line in output.splitlines())
    return " ".join(" ".join(line for line in lines if line not in echoes).split())


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
        text = PROMISE.sub("", text)
        copy.write_text(text)

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
            elif not re.search(regex, said(result.stdout, text)):
                print(f"case {case}: no diagnostic matches {regex!r}:\n{result.stdout}")
            else:
                print(f"case {case} fails as promised: {regex}")
                continue
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
