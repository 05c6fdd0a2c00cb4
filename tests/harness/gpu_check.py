#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_check.py ROOT BUILD [--emulated] [--only PART]… [--jobs N]: all that is run on a GPU, and one table.

    selftests  the correct programs among ptxemu's own tests, on the device: where it and ptxemu differ
    tests      those of the suites gpu and attention that run something, kernels on the device
    bench      device times of attention, as a share of what a copy moves

What the machine lacks is taken from ROOT/gpu-pack (`./x gpu-pack` makes it). The card is used as it is.
A part that fails does not stop the next one. Exit status: 0 all passed, 1 something did not, 125
nothing could be run. --emulated does the same on ptxemu, with the smallest shapes: it tries this
script, and says nothing of a GPU.
"""
import argparse
import concurrent.futures
import ctypes
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

OLDEST_DRIVER = 13000  # of CUDA 13
OLDEST_ARCH = 80
PARTS = ["selftests", "tests", "bench"]
HOPPER = {"bugs_hopper", "hopper_async", "hopper_wgmma"}  # for compute capability 9.0 and no other
PROGRAMS = {"meson": (1, 0), "ninja": (1, 8)}  # and their oldest version
HEADERS = {  # what is included, and the part of the pack that has it
    "doctest/doctest.h": "doctest",
    "boost/hana/unpack.hpp": "hana",
    "nlohmann/json.hpp": "json",
    "benchmark/benchmark.h": "benchmark",
}


class CannotRun(Exception):
    """Why nothing can be run here."""


def say(text: str) -> None:
    print(f"x: {text}", file=sys.stderr, flush=True)


def output_of(command: list, **more) -> str:
    """What a program prints; nothing where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def run_aside(command: list, **more) -> tuple:
    """Exit status of a program, and all that it prints."""
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    result = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, **kept, **more)
    return result.returncode, result.stdout


def with_library(folder: pathlib.Path) -> dict:
    """The environment of a program that finds its libcudart there."""
    paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(paths)}


# -- the card ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Card:
    name: str
    arch: int  # 90: compute capability 9.0
    processors: int = 0
    total_bytes: int = 0
    driver: str = ""

    def words(self) -> str:
        words = f"{self.name}, compute capability {self.arch // 10}.{self.arch % 10}"
        if self.processors:
            words += f", {self.processors} SMs, {self.total_bytes / 2**30:.1f} GiB"
        return words + (f", driver {self.driver}" if self.driver else "")


def driver_version(cuda_version: int) -> str:
    listed = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    number = listed.split("\n")[0].strip()
    if not number:
        try:
            text = pathlib.Path("/proc/driver/nvidia/version").read_text()
            number = (re.search(r"  (\d+\.[\d.]+)  ", text) or [None, ""])[1]
        except OSError:
            pass
    cuda = f"CUDA {cuda_version // 1000}.{cuda_version % 1000 // 10}"
    return f"{number} ({cuda})" if number else cuda


def find_card() -> Card:
    """The first GPU, asked of the driver: the toolkit is not needed for that."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise CannotRun("no GPU: there is no driver (libcuda.so.1)") from None
    number, device, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)

    def ask(function: str, *arguments) -> int:
        status = getattr(cuda, function)(*arguments)
        if status:
            raise CannotRun(f"no GPU: the driver answers {function} with error {status}")
        return number.value

    ask("cuInit", 0)
    version = ask("cuDriverGetVersion", ctypes.byref(number))
    if version < OLDEST_DRIVER:
        raise CannotRun(f"the driver is of CUDA {version // 1000}.{version % 1000 // 10}, and 13.0 is needed")
    if ask("cuDeviceGetCount", ctypes.byref(number)) == 0:
        raise CannotRun("no GPU: the driver sees none")
    ask("cuDeviceGet", ctypes.byref(device), 0)
    ask("cuDeviceGetName", name, len(name), device)
    ask("cuDeviceTotalMem_v2", ctypes.byref(size), device)
    processors, major, minor = (
        ask("cuDeviceGetAttribute", ctypes.byref(number), attribute, device) for attribute in (16, 75, 76)
    )
    card = Card(name.value.decode(), 10 * major + minor, processors, size.value, driver_version(version))
    if card.arch < OLDEST_ARCH:
        raise CannotRun(f"{card.words()}: older than compute capability {OLDEST_ARCH / 10}")
    return card


def arch_to_build(card: Card) -> str:
    """That of the card, or the newest that nvcc knows below it: the driver compiles its PTX."""
    known = {int(x) for x in re.findall(r"^compute_(\d+)$", output_of(["nvcc", "--list-gpu-arch"]), re.MULTILINE)}
    if not known:
        raise CannotRun("nvcc is not on PATH, nor where CUDA_HOME says")
    return str(max((arch for arch in known if arch <= card.arch), default=OLDEST_ARCH))


# -- what the machine lacks --------------------------------------------------------------------------


def works(program: str, oldest: tuple) -> bool:
    version = re.match(r"(\d+)\.(\d+)", output_of([program, "--version"])) if shutil.which(program) else None
    return bool(version) and (int(version[1]), int(version[2])) >= oldest


def has_header(compiler: list, header: str, library: str = "") -> bool:
    """Whether a program that includes it compiles and, with the library, links."""
    mode = [f"-l{library}", "-o", os.devnull] if library else ["-fsyntax-only"]
    program = f"#if !__has_include(<{header}>)\n#error\n#endif\nint main() {{}}\n"
    command = [*compiler, "-std=c++20", "-x", "c++", "-", *mode]
    return subprocess.run(command, input=program, capture_output=True, text=True, check=False).returncode == 0


def prepend(variable: str, folder: pathlib.Path) -> None:
    before = os.environ.get(variable)
    os.environ[variable] = f"{folder}{os.pathsep}{before}" if before else str(folder)


def take_from_pack(pack: pathlib.Path, compiler: list) -> list:
    """Puts what is not here on the paths of this process; returns the names."""
    taken = []

    def need(name: str, there: pathlib.Path) -> pathlib.Path:
        if not there.exists():
            advice = "`./x gpu-pack` makes that folder, on a machine with a network"
            raise CannotRun(f"{name} is not installed, nor in {pack}: {advice}")
        taken.append(name)
        return there

    for name, oldest in PROGRAMS.items():
        if not works(name, oldest):
            prepend("PATH", need(name, pack / name / "bin"))
    for header, name in HEADERS.items():
        library = "benchmark" if name == "benchmark" else ""
        if not has_header(compiler, header, library):
            prepend("CPLUS_INCLUDE_PATH", need(name, pack / name / "include"))
            if library:
                prepend("LIBRARY_PATH", pack / name / "lib")
                prepend("LD_LIBRARY_PATH", pack / name / "lib")
    return taken


# -- building ----------------------------------------------------------------------------------------


class Build:
    """A Meson build folder, and what it knows of itself."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, jobs: int, options: list):
        self.folder, self.jobs = folder, jobs
        stamp = folder / "check-options"
        wanted = "\n".join([os.environ.get("CXX", ""), os.environ.get("CPLUS_INCLUDE_PATH", ""), *options])
        if not (folder / "build.ninja").exists() or not stamp.exists() or stamp.read_text() != wanted:
            say(f"configuring {folder.name}")
            shutil.rmtree(folder, ignore_errors=True)
            self._quietly(["meson", "setup", str(folder), str(root), *options])
            stamp.write_text(wanted)
        else:
            self._quietly(["ninja", "-C", str(folder), "build.ninja"])
        introspected = output_of(["meson", "introspect", "--tests", "--targets", "-f", str(folder)])
        known = json.loads(introspected) if introspected else {}
        if "tests" not in known:
            raise CannotRun(f"`meson introspect {folder}` says nothing")
        self.tests = known["tests"]
        self._files = {target["id"]: target["filename"][0] for target in known["targets"]}

    @staticmethod
    def _quietly(command: list) -> None:
        status, text = run_aside(command)
        if status != 0:
            sys.stderr.write(text)
            raise CannotRun(f"`{' '.join(command[:2])}` fails")

    def in_suites(self, suites: set) -> list:
        return [test for test in self.tests if suites & {suite.split(":")[-1] for suite in test["suite"]}]

    def file_of(self, name: str) -> pathlib.Path:
        paths = map(pathlib.Path, self._files.values())
        return next((path for path in paths if path.name == name), self.folder / name)

    def make(self, what: str, files: list) -> bool:
        say(f"building {what}")
        names = [os.path.relpath(file, self.folder) for file in files]
        quiet = ["--quiet"] if not sys.stderr.isatty() and "--quiet" in run_aside(["ninja", "--help"])[1] else []
        command = ["ninja", "-C", str(self.folder), "-j", str(self.jobs), "-k", "0", *quiet, *names]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode == 0

    def make_for(self, what: str, tests: list) -> bool:
        return self.make(what, sorted({self._files[one] for test in tests for one in test["depends"]}))

    def option_of_tests(self, option: str) -> str:
        """What the runner of GPU tests is given: --ptxemu, --cudart."""
        for test in self.tests:
            if option in test["cmd"]:
                return test["cmd"][test["cmd"].index(option) + 1]
        raise CannotRun("there are no GPU tests in this build")


# -- the parts ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    good: bool
    lines: list  # of the table


def run_selftests(build: Build, card: Card, library: pathlib.Path) -> Outcome:
    """ptxemu's own tests: those of compute_90 where the card runs that, else built for compute_80."""
    newest = card.arch >= 90
    tests = build.in_suites({"ptxemu"} if newest else {"ptxemu-full"})
    tests = [test for test in tests if test["name"].endswith(".nvcc" if newest else ".sm_80")]
    name_of = {test["name"]: test["name"].split("_", 1)[1].rsplit(".", 1)[0] for test in tests}
    tests = [test for test in tests if card.arch == 90 or name_of[test["name"]] not in HOPPER]
    if not build.make_for("the selftests of ptxemu", tests):
        return Outcome(False, ["selftests    not built"])

    def run(test: dict) -> tuple:
        command = ["device" if word in ("quick", "full") else word for word in test["cmd"]]
        return (name_of[test["name"]], *run_aside(command, cwd=build.folder, env=with_library(library)))

    differ = []
    say(f"running {len(tests)} selftests of ptxemu")
    with concurrent.futures.ThreadPoolExecutor(build.jobs) as pool:
        for name, status, text in pool.map(run, tests):
            if status != 0:
                differ.append(name)
                print(f"-- {name} differs from ptxemu\n{text.rstrip()}", flush=True)
    line = f"selftests    {len(tests) - len(differ)} of {len(tests)} programs of ptxemu as expected"
    return Outcome(bool(tests) and not differ, [line + (f"; not so {', '.join(differ)}" if differ else "")])


def run_tests(build: Build, emulated: bool, root: pathlib.Path) -> Outcome:
    # What tests a compiler or a script says nothing of a GPU, and takes its time.
    on_gpu = [test for test in build.in_suites({"gpu"}) if re.fullmatch(r"gpu_.*\.nvcc", test["name"])]
    on_host = [test for test in build.in_suites({"attention"}) if not test["name"].endswith(".nvcc")]
    tests = on_gpu + on_host
    built = build.make_for("the tests", tests)
    say(f"running {len(tests)} tests")
    if emulated:  # one order of warps is enough to try this script
        os.environ.setdefault("ALLOT_GPU_SCHEDULES", "rand1/4/1")
    counts, ended = [0, 0, 0], 0
    # Each that measures free memory must have the card to itself.
    for where, some, jobs in (("gpu", on_gpu, build.jobs if emulated else 1), ("host", on_host, build.jobs)):
        if not some:  # no names would be all tests
            continue
        log = build.folder / "meson-logs" / f"check-{where}.json"
        log.unlink(missing_ok=True)
        command = ["meson", "test", "-C", str(build.folder), "--no-rebuild", "--print-errorlogs"]
        command += ["--logbase", log.stem, "--num-processes", str(jobs), *(test["name"] for test in some)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode or ended
        tally = [sys.executable, str(root / "tests" / "harness" / "tally.py"), str(log)]
        for i, count in enumerate(output_of(tally).split()):
            counts[i] += int(count)
    passed, failed, skipped = counts
    line = f"tests        {passed} passed, {failed} failed, {skipped} skipped"
    good = built and ended == 0 and passed > 0 and failed == 0 and skipped == 0
    return Outcome(good, [line + ("" if built else "; some are not built")])


def share_table(benches: list) -> list:
    """Lowest and highest share of the copy bandwidth, an operator a line, an element type a column."""
    shares, flops, types = {}, {}, []
    for bench in benches:
        operator, dtype = bench["name"].split("/")[:2]
        if dtype not in types:
            types.append(dtype)
        shares.setdefault(operator, {}).setdefault(dtype, []).append(100 * bench["of_copy"])
        if "TFLOP/s" in bench:
            flops.setdefault(operator, []).append(bench["TFLOP/s"])
    lines = [f"{'of a copy':<12}" + "".join(f" {dtype:>11}" for dtype in types)]
    for operator, of_type in shares.items():
        line = f"{operator:<12}"
        for dtype in types:
            some = of_type.get(dtype)
            line += " " + (f"{min(some):.0f} - {max(some):.0f} %" if some else "").rjust(11)
        if operator in flops:
            line += f"   up to {max(flops[operator]):,.1f} TFLOP/s"
        lines.append(line.rstrip())
    return lines


def run_bench(build: Build, emulated: bool, library: pathlib.Path) -> Outcome:
    program, answer = build.file_of("gpu_attention_bench"), build.folder / "gpu_attention.json"
    if not build.make("the benchmarks", [program]):
        return Outcome(False, ["bench        not built"])
    say("running the benchmarks")
    answer.unlink(missing_ok=True)
    command = [str(program), f"--benchmark_out={answer}", "--benchmark_out_format=json"]
    if emulated:
        command.append("--tiny")
    status = subprocess.run(command, env=with_library(library), stdin=subprocess.DEVNULL, check=False).returncode
    try:
        results = json.loads(answer.read_text())
    except (OSError, ValueError):
        return Outcome(False, [f"bench        ended with status {status}, without results"])
    failed = [bench["name"] for bench in results["benchmarks"] if bench.get("error_occurred")]
    good = [bench for bench in results["benchmarks"] if not bench.get("error_occurred")]
    lines = [f"bench        {len(good)} measured, {len(failed)} failed; each of them in {answer}"]
    if good and not emulated:
        copied = float(results["context"]["copy_bytes_per_second"])
        lines += [f"copy         {copied / 1e12:.2f} TB/s, read and written", "", *share_table(good)]
    return Outcome(status == 0 and bool(good) and not failed, lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./x gpu-check",
        usage="%(prog)s [--emulated] [--only PART]... [--jobs N]",
        description="\n".join(__doc__.splitlines()[2:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("root", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--emulated", action="store_true", help="on ptxemu: tries this script without a GPU")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be repeated")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=int, default=cores, metavar="N", help=f"processes at once ({cores})")
    args = parser.parse_args()
    parts = [part for part in PARTS if not args.only or part in args.only]

    try:
        card = Card("ptxemu", 90) if args.emulated else find_card()
        arch = arch_to_build(card)
        say(f"on {card.words()}")
        taken = take_from_pack(args.root / "gpu-pack", os.environ.get("CXX", "g++").split())
        say(f"from gpu-pack: {', '.join(taken)}" if taken else "nothing is needed from gpu-pack")
        options = ["-Dtests=enabled", "-Dbench=enabled", "-Dtools=disabled", "-Dcuda=enabled", f"-Dgpu_archs={arch}"]
        options += [f"-Dgpu_tests={'emulated' if args.emulated else 'device'}", "-Ddebug=false"]
        build = Build(args.root, args.build, args.jobs, options)
        library = pathlib.Path(build.option_of_tests("--ptxemu" if args.emulated else "--cudart"))
    except CannotRun as why:
        hint = "" if args.emulated else " (`./x gpu-check --emulated` tries the script without a GPU)"
        say(f"{why}{hint if 'GPU' in str(why) else ''}")
        return 125

    outcomes = []
    for part in parts:
        if part == "selftests":
            outcomes.append(run_selftests(build, card, library))
        elif part == "tests":
            outcomes.append(run_tests(build, args.emulated, args.root))
        else:
            outcomes.append(run_bench(build, args.emulated, library))
    commit = output_of(["git", "-C", str(args.root), "describe", "--always", "--dirty"]).strip()
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    print(f"\n{'card':<12} {card.words()}")
    print(f"{'built':<12} for sm_{arch}, {when}" + (f", commit {commit}" if commit else ""))
    for outcome in outcomes:
        print("\n".join(outcome.lines))
    good = all(outcome.good for outcome in outcomes)
    print("passed" if good else "FAILED", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
