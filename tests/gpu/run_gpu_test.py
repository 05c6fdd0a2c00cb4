#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one GPU test program, on a GPU or on ptxemu under several schedules, or skips it (exit 77).

A schedule is ORDER/BLOCKS/DEFER, the three settings of ptxemu that say in which order warps, blocks and
asynchronous work run. ALLOT_GPU_SCHEDULES=default|all|SCHEDULE,… chooses other ones than those of
`--schedules`; the default has each order with both block counts and both times of asynchronous work.

A program passes when doctest says so and it launched a kernel, under every schedule; on ptxemu its
summary line must be there, or it ran on something else, and there may be no report. A program with a
seeded bug passes when ptxemu reports that bug; it always runs on ptxemu.
"""
import argparse
import ctypes
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys

SKIPPED = 77
REPORTED = 86  # exit status of a strict ptxemu that had something to report
DEVICE_RUNS = 3
OLDEST_DRIVER = 13000  # of CUDA 13

ORDERS, BLOCKS, DEFER = ("fwd", "rev", "rand1", "rand2"), ("1", "4"), ("0", "1")
ALL = ["/".join(words) for words in itertools.product(ORDERS, BLOCKS, DEFER)]
DEFAULT = ["fwd/1/0", "fwd/4/1", "rev/1/1", "rev/4/0", "rand1/4/1", "rand2/1/0"]

SUMMARY = re.compile(r"^PTXEMU summary: (\d+) reports, (\d+) kernel launches", re.MULTILINE)
CASES = re.compile(r"^\[doctest\] test cases: +(\d+)", re.MULTILINE)
SUCCESS = re.compile(r"^\[doctest\] Status: SUCCESS!", re.MULTILINE)


class Failure(Exception):
    """What is wrong with a run."""


def find_device(oldest_arch: int):
    """The name of the first GPU that can run the tests, or None."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    if cuda.cuInit(0) or cuda.cuDriverGetVersion(ctypes.byref(number)) or number.value < OLDEST_DRIVER:
        return None
    if cuda.cuDeviceGetCount(ctypes.byref(number)) or number.value == 0:
        return None
    device, capability = ctypes.c_int(), []
    if cuda.cuDeviceGet(ctypes.byref(device), 0) or cuda.cuDeviceGetName(name, len(name), device):
        return None
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        if cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device):
            return None
        capability.append(number.value)
    return name.value.decode() if 10 * capability[0] + capability[1] >= oldest_arch else None


def schedules_named(words: str) -> list:
    chosen = {"default": DEFAULT, "all": ALL}.get(words) or words.split(",")
    for schedule in chosen:
        if not re.fullmatch(r"(fwd|revw?|rand\d+)/[1-9]\d*/[01]", schedule):
            sys.exit(f"'{schedule}' is no schedule; one is {DEFAULT[-1]}")
    return chosen


def run(command: list, settings: dict) -> subprocess.CompletedProcess:
    """Runs a program with these settings in place of any inherited ones of ptxemu's schedule."""
    result = subprocess.run(
        command,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    result.again = " ".join([f"{k}={shlex.quote(v)}" for k, v in settings.items()] + list(map(shlex.quote, command)))
    return result


def library_path(first: pathlib.Path) -> str:
    return ":".join([str(first)] + [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p])


def check_doctest(result: subprocess.CompletedProcess) -> None:
    if result.returncode != 0:
        raise Failure(f"exit status {result.returncode}")
    cases = CASES.search(result.stdout)
    if not cases or int(cases[1]) == 0:
        raise Failure("doctest ran no test case")
    if not SUCCESS.search(result.stdout):
        raise Failure("doctest does not report success")


def kernels_launched(result: subprocess.CompletedProcess) -> int:
    summary = SUMMARY.search(result.stderr)
    if not summary:
        raise Failure("no summary line: it did not run on ptxemu to its end")
    if int(summary[2]) == 0:
        raise Failure("it launched no kernel")
    return int(summary[2])


def check_seeded(result: subprocess.CompletedProcess, kind: str) -> None:
    if result.returncode != REPORTED:
        raise Failure(f"exit status {result.returncode}: the seeded bug went unnoticed")
    if not re.search(f"^PTXEMU {re.escape(kind)}", result.stderr, re.MULTILINE):
        raise Failure(f"ptxemu reports something, but not {kind}")


def check_clean(result: subprocess.CompletedProcess) -> None:
    check_doctest(result)
    summary = SUMMARY.search(result.stderr)
    if summary and int(summary[1]) != 0:
        raise Failure("ptxemu reports something")


def run_emulated(args: argparse.Namespace) -> int:
    schedules = schedules_named(os.environ.get("ALLOT_GPU_SCHEDULES") or args.schedules)
    kernels = 0
    for schedule in schedules:
        order, blocks, defer = schedule.split("/")
        settings = {
            "LD_LIBRARY_PATH": library_path(args.ptxemu),
            "PTXEMU_STRICT": "1",
            "PTXEMU_ORDER": order,
            "PTXEMU_BLOCKS": blocks,
            "PTXEMU_DEFER": defer,
        }
        result = run(args.command, settings)
        try:
            kernels += kernels_launched(result)
            check_seeded(result, args.seeded) if args.seeded else check_clean(result)
        except Failure as failure:
            sys.stdout.write(result.stdout)
            sys.stdout.write(result.stderr)
            print(f"under schedule {schedule}: {failure}\nagain: {result.again}")
            return 1
    print(f"ran {kernels} kernels on ptxemu, {len(schedules)} schedules")
    return 0


def run_on_device(args: argparse.Namespace, device: str) -> int:
    for _ in range(DEVICE_RUNS):
        settings = {"LD_LIBRARY_PATH": library_path(args.cudart)} if args.cudart else {}
        result = run(args.command, settings)
        try:
            if SUMMARY.search(result.stderr):
                raise Failure("it ran on ptxemu")
            check_doctest(result)
        except Failure as failure:
            sys.stdout.write(result.stdout)
            sys.stdout.write(result.stderr)
            print(f"on device {device}: {failure}\nagain: {result.again}")
            return 1
    print(f"ran on device {device}, {DEVICE_RUNS} times")
    return 0


def skip(why: str) -> int:
    print(f"skipped: {why}")
    return SKIPPED


def main(words: list, find=find_device) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["auto", "device", "emulated"], default="auto")
    parser.add_argument("--skip", metavar="WHY", help="do not run it")
    parser.add_argument("--ptxemu", type=pathlib.Path, metavar="DIR", help="where ptxemu's libcudart.so.13 is")
    parser.add_argument("--cudart", type=pathlib.Path, metavar="DIR", help="where the toolkit's is")
    parser.add_argument("--archs", default="0", metavar="NN,…", help="what the program is built for, such as 80,90")
    parser.add_argument("--schedules", default="default", metavar="SCHEDULE,…", help="where nobody chooses others")
    parser.add_argument("--seeded", metavar="KIND", help="the report that the program must cause")
    parser.add_argument("command", nargs="*", metavar="PROGRAM", help="after `--`, with its arguments")
    args = parser.parse_args(words)

    if args.skip:
        return skip(args.skip)
    emulator = args.ptxemu is not None and (args.ptxemu / "libcudart.so.13").exists()
    if args.mode == "emulated" or args.seeded:
        if not emulator:
            print(f"no libcudart.so.13 of ptxemu in {args.ptxemu}")
            return 1
        return run_emulated(args)
    device = find(min(int(arch.rstrip("af")) for arch in args.archs.split(",")))
    if device:
        return run_on_device(args, device)
    if args.mode == "device":
        print("no GPU that can run the tests")
        return 1
    return run_emulated(args) if emulator else skip("there is no GPU, and no ptxemu")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
