#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""selftest.py quick|full|device PROGRAM: runs one test program NAME.ARCH, and checks what it reports.
selftest.py quick|full|device NAME.cu ARCH COMPILER…: the same, of a program that is built first.

quick and full are for ptxemu. A correct program must exit with 0 and cause no line of the emulator, in
every schedule. Of a program with seeded bugs, each must be reported; in strict mode that is exit status 86.

device is for a GPU, to learn where it and ptxemu differ: correct programs alone are run, and every
line of theirs that fails is printed.
"""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SILENT = None  # no line of the emulator may appear
STRICT = {"PTXEMU_STRICT": "1"}
DEFERRED = {"PTXEMU_DEFER": "1"}


@dataclasses.dataclass
class Case:
    args: str = ""
    env: dict = dataclasses.field(default_factory=dict)
    status: int = 0
    pattern: str = SILENT  # must occur at the start of a line


def seeded(number: int, pattern: str, **env) -> Case:
    return Case(str(number), {**STRICT, **env}, 86, f"PTXEMU {pattern}")


BUGS = [
    seeded(0, "RACE-SHARED"),
    seeded(1, "ERROR: illegal global address"),
    seeded(2, "ERROR: shared memory access out of bounds"),
    seeded(3, "UNINIT-SHARED"),
    seeded(4, "ASYNC-SHARED"),
    seeded(5, "ERROR: deadlock"),
    seeded(6, "UNINIT-GLOBAL"),
    seeded(7, "ERROR: illegal global address .*freed"),
    seeded(8, "ERROR: misaligned"),
    seeded(9, "RACE-GLOBAL", PTXEMU_GRACE="1"),
    seeded(10, "RACE-SHARED"),
    Case("11", STRICT, 0, "PTXEMU summary: 0 reports, 1 kernel launches"),
    Case("13", {}, 0, "case 13 -> cuda error 9"),
    seeded(14, "ERROR: illegal global address"),
    seeded(15, "ERROR: .*red zone"),
    seeded(16, "UNINIT-COPY"),
    seeded(17, "SHFL-INACTIVE"),
    seeded(19, "ERROR: illegal global address 0xfffffffffffffffc"),
    seeded(20, "ERROR: local memory access between variables"),
    seeded(21, "ERROR: local memory access out of bounds"),
    seeded(22, "ERROR: local memory access between variables"),
    seeded(23, "ASYNC-FAILED: queued work: cudaErrorInvalidValue"),
    Case("18", {}, -11, "PTXEMU ERROR: host code accessed"),
    Case("0", {}, 0, "PTXEMU summary: .*RACE-SHARED"),
]

BUGS_HOPPER = [
    Case("0", STRICT, 0, "PTXEMU summary: 0 reports"),
    seeded(1, "ASYNC-SHARED"),
    seeded(2, "ERROR: deadlock"),
    seeded(3, "RACE-SHARED"),
    seeded(4, "ASYNC-EXIT"),
    seeded(5, "ERROR: mbarrier is not initialised"),
    seeded(6, "WGMMA-EARLY"),
]

BIG_CARD = {"PTXEMU_MEM": "12G", "PTXEMU_SMS": "132"}
API = [
    Case("", BIG_CARD),
    Case("", {**BIG_CARD, **DEFERRED}),
    Case("sticky", {}, 0, "PASS"),
    Case("missing", {}, 0, "PTXEMU MISSING-API: cudaMalloc3DArray"),
]

STREAMS = [Case(), Case(env=DEFERRED)] + [Case(str(m), DEFERRED, 3, ".*WRONG DATA") for m in range(1, 5)]

CASES = {"api": API, "bugs": BUGS, "bugs_hopper": BUGS_HOPPER, "streams": STREAMS}

# What is correct of those; a sticky error ends with its process.
ON_DEVICE = {
    "api": [Case(), Case("sticky", {}, 0, "PASS")],
    "bugs": [Case("11", {}, 0, "case 11 -> cuda error 0"), Case("13", {}, 0, "case 13 -> cuda error 9")],
    "bugs_hopper": [Case("0", {}, 0, "case 0 -> cuda error 0")],
    "streams": [Case()],
}


def schedules(mode: str, arch: str) -> list:
    more = {} if arch == "80" else {"MMA8": "1"}  # fp8 needs sm_89
    if mode == "device":
        return [Case(env=more)]
    orders, blocks = (["fwd", "revw", "rand1", "rand2"], ["1", "4"]) if mode == "full" else (["rand1"], ["4"])
    return [Case(env={"PTXEMU_ORDER": o, "PTXEMU_BLOCKS": b, **more}) for o in orders for b in blocks]


def fault(program: pathlib.Path, case: Case) -> str:
    """What is wrong with a run, or nothing."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PTXEMU_")}
    try:
        result = subprocess.run(
            [program, *case.args.split()],
            env={**env, **case.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    wrong = []
    if result.returncode != case.status:
        wrong.append(f"exit status {result.returncode}, expected {case.status}")
    if case.pattern is SILENT:
        if re.search("^PTXEMU", result.stdout, re.MULTILINE):
            wrong.append("the emulator reports something")
    elif not re.search(f"^{case.pattern}", result.stdout, re.MULTILINE):
        wrong.append(f"no line matches '{case.pattern}'")
    return "; ".join(wrong) + "\n" + result.stdout if wrong else ""


def check(mode: str, program: pathlib.Path) -> int:
    name, arch = program.name.split(".")
    cases = (ON_DEVICE if mode == "device" else CASES).get(name) or schedules(mode, arch)
    failures = 0
    for case in cases:
        wrong = fault(program, case)
        if wrong:
            failures += 1
            print(f"FAIL {program.name} {case.args} {case.env}: {wrong}")
    print(f"{program.name}: {len(cases) - failures} of {len(cases)} runs as expected")
    return 1 if failures else 0


def main() -> int:
    mode, program, *more = sys.argv[1:]
    program = pathlib.Path(program).resolve()
    if not more:
        return check(mode, program)
    arch, *compiler = more
    with tempfile.TemporaryDirectory() as place:
        built = pathlib.Path(place) / f"{program.stem}.{arch}"
        subprocess.run([*compiler, program, "-o", built], check=True)
        return check(mode, built)


if __name__ == "__main__":
    sys.exit(main())
