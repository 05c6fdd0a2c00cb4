#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README is true.

readme_test.py code README INCLUDE_DIRS COMPILER…: its code blocks compile as they stand, with the
include directories between the commas. In the first, the one
line commented `// CODE  // does not compile: …` does not, once the comment is taken off, and the
compiler then names the two counts that were mixed.

readme_test.py console README ALLOT: what follows a `$ ./x plan …` in a console block is what the
command prints.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile



def check_code(readme: pathlib.Path, include_dirs: str, *compiler: str) -> None:
    block, *others = re.findall(r"```cpp\n(.*?)```", readme.read_text(), re.S)
    forbidden = re.findall(r"^( *)// (.*;)  // does not compile", block, re.M)
    if len(forbidden) != 1:
        sys.exit(f"the block must hold one line that does not compile, found {len(forbidden)}")
    indent, code = forbidden[0]

    def build(text: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch) / "readme.cpp"
            source.write_text(text)
            command = [*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror"]
            command += [f"-I{folder}" for folder in include_dirs.split(",")]
            return subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True)

    if (good := build(block)).returncode != 0:
        sys.exit(f"the block does not compile:\n{good.stderr}")
    for other in others:
        if (good := build(other)).returncode != 0:
            sys.exit(f"a block does not compile:\n{good.stderr}")
    bad = build(block.replace(f"{indent}// {code}", f"{indent}{code}"))
    if bad.returncode == 0:
        sys.exit(f"this must not compile, and does: {code}")
    if "usable_page" not in bad.stderr or "physical_page" not in bad.stderr:
        sys.exit(f"the compiler does not name both counts:\n{bad.stderr}")
    print(f"{1 + len(others)} blocks compile; this does not: {code}")


def check_console(readme: pathlib.Path, allot: str) -> None:
    checked = 0
    allot = str(pathlib.Path(allot).resolve())  # Meson may give it relative to where it runs this
    for block in re.findall(r"```console\n(.*?)```", readme.read_text(), re.S):
        for command, promised in re.findall(r"^\$ \./x (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            if not promised:
                continue
            ran = subprocess.run([allot, *shlex.split(command)], cwd=readme.parent,
                                 capture_output=True, text=True)
            if ran.stdout.strip() != promised.strip():
                sys.exit(f"allot {command}\nprints\n{ran.stdout}{ran.stderr}\nnot\n{promised}")
            checked += 1
    if checked < 2:
        sys.exit(f"only {checked} outputs found")
    print(f"{checked} outputs are what the command prints")


what, readme_path, *rest = sys.argv[1:]
{"code": check_code, "console": check_console}[what](pathlib.Path(readme_path).resolve(), *rest)
