#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_units.py OUT_DIR NAME=INCLUDE… writes OUT_DIR/NAME, a CUDA file that includes INCLUDE twice.

An older Meson knows no header dependencies of what nvcc compiles. These files stand in for them: they
are written again whenever a header changes, and that rebuilds their objects.
"""
import pathlib
import sys

out_dir, *units = sys.argv[1:]
for unit in units:
    name, include = unit.split("=", 1)
    # A source to compile is named by its full path, a public header as a user would name it.
    quoted = f'"{include}"' if pathlib.PurePath(include).is_absolute() else f"<{include}>"
    times = 1 if quoted[0] == '"' else 2
    (pathlib.Path(out_dir) / name).write_text(f"#include {quoted}\n" * times)
