#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compile_cost.py INCLUDE_DIR RUNS COMPILER…: what including allot costs a translation unit.

Compiles an empty file and one that includes each header, in turns, and prints the medians and the
difference. Nothing is asserted: a busy machine is no failure.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

include_dir, runs, *compiler = sys.argv[1:]
cases = {
    "an empty file": "",
    "<cstdint> and <compare>": "#include <compare>\n#include <cstdint>\n",
    "<allot/core/units.hpp>": "#include <allot/core/units.hpp>\n",
    "<allot/allot.hpp>": "#include <allot/allot.hpp>\n",
    "<allot/laws.hpp>": "#include <allot/laws.hpp>\n",
}

with tempfile.TemporaryDirectory() as scratch:
    sources = {}
    for number, (name, text) in enumerate(cases.items()):
        sources[name] = pathlib.Path(scratch) / f"case_{number}.cpp"
        sources[name].write_text(text)
    times: dict = {name: [] for name in cases}
    for turn in range(int(runs) + 1):
        for name, source in sources.items():
            command = [*compiler, "-std=c++20", "-I", include_dir, "-c", source, "-o", "/dev/null"]
            start = time.perf_counter()
            subprocess.run(command, check=True)
            if turn > 0:  # the first is a warm-up
                times[name].append(time.perf_counter() - start)

medians = {name: statistics.median(values) * 1000 for name, values in times.items()}
empty = medians["an empty file"]
print(f"compile cost over an empty file, median of {runs} runs of {' '.join(compiler)}")
for name, median in medians.items():
    print(f"  {name:<28}{median:7.1f} ms   {median - empty:+7.1f} ms")
