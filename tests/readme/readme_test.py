#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme_test.py README INCLUDE_DIR COMPILER…: the first code block of the README is true.

It compiles as it stands. Its one line commented `// CODE  // does not compile: …` does not, once the
comment is taken off, and the compiler then names the two counts that were mixed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

readme, include_dir, *compiler = sys.argv[1:]
block = re.search(r"```cpp\n(.*?)```", pathlib.Path(readme).read_text(), re.S).group(1)
forbidden = re.findall(r"^( *)// (.*;)  // does not compile", block, re.M)
if len(forbidden) != 1:
    sys.exit(f"the block must hold one line that does not compile, found {len(forbidden)}")
indent, code = forbidden[0]


def build(text: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "readme.cpp"
        source.write_text(text)
        return subprocess.run([*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I",
                               include_dir, "-fsyntax-only", source],
                              capture_output=True, text=True)


if (good := build(block)).returncode != 0:
    sys.exit(f"the block does not compile:\n{good.stderr}")
bad = build(block.replace(f"{indent}// {code}", f"{indent}{code}"))
if bad.returncode == 0:
    sys.exit(f"this must not compile, and does: {code}")
if "usable_page" not in bad.stderr or "physical_page" not in bad.stderr:
    sys.exit(f"the compiler does not name both counts:\n{bad.stderr}")
print(f"{len(block.splitlines())} lines compile; this does not: {code}")
