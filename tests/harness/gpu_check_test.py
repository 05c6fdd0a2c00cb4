#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./x gpu-check` where there is no GPU: what it makes of a card, of a machine that lacks things, and of
parts that fail."""
import contextlib
import ctypes
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import gpu_check


class FakeDriver:
    """libcuda.so.1 as ctypes has it."""

    def __init__(self, version=13000, count=1, capability=(9, 0), failing=""):
        self.version, self.count, self.capability, self.failing = version, count, capability, failing

    def __getattr__(self, function):
        def answer(*arguments):
            if function == self.failing:
                return 100
            attributes = {16: 132, 75: self.capability[0], 76: self.capability[1]}
            values = {"cuDriverGetVersion": self.version, "cuDeviceGetCount": self.count}
            if function == "cuDeviceGetAttribute":
                values[function] = attributes[arguments[1]]
            if function in values:
                arguments[0]._obj.value = values[function]
            elif function == "cuDeviceTotalMem_v2":
                arguments[0]._obj.value = 80 << 30
            elif function == "cuDeviceGetName":
                arguments[0].value = b"Card of a test"
            return 0

        return answer


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)
        patch = mock.patch.dict(os.environ)
        patch.start()
        self.addCleanup(patch.stop)

    def program(self, name: str, script: str) -> pathlib.Path:
        file = self.place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n" + script)
        file.chmod(0o755)
        return file


class Card(unittest.TestCase):
    def card_of(self, driver) -> gpu_check.Card:
        said = mock.patch.object(gpu_check, "output_of", return_value="580.10\n580.10\n")
        with said, mock.patch.object(ctypes, "CDLL", return_value=driver):
            return gpu_check.find_card()

    def test_is_described(self):
        words = "Card of a test, compute capability 12.0, 132 SMs, 80.0 GiB, driver 580.10 (CUDA 13.0)"
        self.assertEqual(self.card_of(FakeDriver(capability=(12, 0))).words(), words)

    def test_is_refused(self):
        for driver, why in (
            (FakeDriver(count=0), "the driver sees none"),
            (FakeDriver(version=12080), "the driver is of CUDA 12.8, and 13.0 is needed"),
            (FakeDriver(failing="cuInit"), "cuInit with error 100"),
            (FakeDriver(capability=(7, 5)), "older than compute capability 8.0"),
        ):
            with self.subTest(why), self.assertRaisesRegex(gpu_check.CannotRun, why):
                self.card_of(driver)

    def test_is_not_there(self):
        log = io.StringIO()
        with mock.patch.object(ctypes, "CDLL", side_effect=OSError), contextlib.redirect_stderr(log):
            with mock.patch("sys.argv", ["gpu_check.py", "/nowhere", "/nowhere/build"]):
                self.assertEqual(gpu_check.main(), 125)
        self.assertEqual(log.getvalue().count("\n"), 1)
        self.assertIn("no GPU: there is no driver", log.getvalue())

    def test_newest_architecture_that_nvcc_knows(self):
        for arch, built in ((90, "90"), (103, "100"), (80, "80"), (86, "80")):
            with mock.patch.object(gpu_check, "output_of", return_value="compute_80\ncompute_90\ncompute_100\n"):
                self.assertEqual(gpu_check.arch_to_build(gpu_check.Card("", arch)), built)


class Pack(Scratch):
    def take(self, compiler_finds_all: bool, programs: dict) -> list:
        """What is taken on a machine whose programs say these versions."""
        os.environ["PATH"] = f"{self.place / 'path'}:/usr/bin:/bin"
        for name, version in programs.items():
            self.program(f"path/{name}", f"echo {version}\n")
        with mock.patch.object(gpu_check, "has_header", return_value=compiler_finds_all):
            return gpu_check.take_from_pack(self.place / "pack", ["c++"])

    def fill(self):
        for name in ("meson", "ninja"):
            self.program(f"pack/{name}/bin/{name}", "echo 9.9\n")
        for name in gpu_check.HEADERS.values():
            (self.place / "pack" / name / "include").mkdir(parents=True)

    def test_nothing_is_needed(self):
        self.assertEqual(self.take(True, {"meson": "1.0.1", "ninja": "1.11.1"}), [])
        self.assertNotIn("pack", os.environ["PATH"] + os.environ.get("CPLUS_INCLUDE_PATH", ""))

    def test_only_what_lacks(self):
        self.fill()
        self.assertEqual(self.take(True, {"meson": "0.61.2", "ninja": "1.11.1"}), ["meson"])
        self.assertEqual(gpu_check.output_of(["meson", "--version"]), "9.9\n")
        self.assertEqual(gpu_check.output_of(["ninja", "--version"]), "1.11.1\n")

    def test_all_of_it(self):
        self.fill()
        every = ["meson", "ninja", "doctest", "hana", "json", "benchmark"]
        self.assertEqual(self.take(False, {"meson": "no version", "ninja": "0"}), every)
        for name in gpu_check.HEADERS.values():
            self.assertIn(str(self.place / "pack" / name / "include"), os.environ["CPLUS_INCLUDE_PATH"].split(":"))
        for variable in ("LIBRARY_PATH", "LD_LIBRARY_PATH"):
            self.assertEqual(os.environ[variable].split(":")[0], str(self.place / "pack" / "benchmark" / "lib"))

    def test_there_is_none(self):
        with self.assertRaisesRegex(gpu_check.CannotRun, "doctest is not installed, nor in .*/pack: `./x gpu-pack`"):
            self.take(False, {"meson": "1.0.1", "ninja": "1.11.1"})


class FakeBuild:
    """A build folder in which every target is built already."""

    def __init__(self, folder: pathlib.Path, tests=(), built=True):
        self.folder, self.jobs, self.tests, self.built = folder, 2, list(tests), built

    def in_suites(self, suites):
        return [test for test in self.tests if suites & set(test["suite"])]

    def make(self, what, files):
        return self.built

    make_for = make

    def file_of(self, name):
        return self.folder / name


class Parts(Scratch):
    def selftests(self, arch: int, scripts: dict, suite="ptxemu", end=".nvcc", built=True) -> tuple:
        tests = []
        for name, script in scripts.items():
            command = [str(self.program(name, script)), "full" if end == ".sm_80" else "quick"]
            tests.append({"name": f"ptxemu_{name}{end}", "suite": [suite], "cmd": command})
        log = io.StringIO()
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(io.StringIO()):
            build = FakeBuild(self.place, tests, built)
            outcome = gpu_check.run_selftests(build, gpu_check.Card("", arch), pathlib.Path("/toolkit"))
        return outcome, log.getvalue()

    def test_selftests_run_on_the_device(self):
        script = 'test "$1" = device && test "${LD_LIBRARY_PATH%%:*}" = /toolkit\n'
        outcome, _ = self.selftests(90, {"mma": script, "hopper_wgmma": script})
        self.assertTrue(outcome.good)
        self.assertIn("2 of 2 programs", outcome.lines[0])

    def test_a_difference_is_told_and_counts(self):
        outcome, log = self.selftests(90, {"mma": "exit 0\n", "api": "echo FAIL line 7; exit 1\n"})
        self.assertFalse(outcome.good)
        self.assertIn("1 of 2 programs of ptxemu as expected; not so api", outcome.lines[0])
        self.assertIn("-- api differs from ptxemu\nFAIL line 7", log)

    def test_selftests_of_other_cards(self):
        outcome, _ = self.selftests(120, {"mma": "exit 0\n", "bugs_hopper": "exit 1\n"})
        self.assertIn("1 of 1 programs", outcome.lines[0])
        self.assertTrue(outcome.good)
        outcome, _ = self.selftests(86, {"mma": "exit 0\n"}, suite="ptxemu-full", end=".sm_80")
        self.assertIn("1 of 1 programs", outcome.lines[0])
        self.assertTrue(outcome.good)

    def test_no_selftest_is_no_success(self):
        self.assertFalse(self.selftests(90, {})[0].good)
        self.assertFalse(self.selftests(90, {"mma": "exit 0\n"}, built=False)[0].good)

    def bench(self, results, status=0, emulated=False):
        answer = self.place / "answer.json"
        answer.write_text(json.dumps(results) if isinstance(results, dict) else results)
        self.program("gpu_attention_bench", f'cp {answer} "${{1#--benchmark_out=}}"\nexit {status}\n')
        with contextlib.redirect_stderr(io.StringIO()):
            return gpu_check.run_bench(FakeBuild(self.place), emulated, pathlib.Path("/toolkit"))

    RESULTS = {
        "context": {"copy_bytes_per_second": "4300000000000.0"},
        "benchmarks": [
            {"name": "append/bf16/a", "of_copy": 0.9},
            {"name": "decode/bf16/a", "of_copy": 0.825, "TFLOP/s": 100.0},
            {"name": "decode/bf16/b", "of_copy": 0.4, "TFLOP/s": 1200.0},
            {"name": "decode/fp8/a", "of_copy": 0.7, "TFLOP/s": 9.0},
        ],
    }

    def test_shares_are_a_table(self):
        outcome = self.bench(self.RESULTS)
        self.assertTrue(outcome.good)
        self.assertEqual(
            outcome.lines[1:],
            [
                "copy         4.30 TB/s, read and written",
                "",
                "of a copy           bf16         fp8",
                "append         90 - 90 %",
                "decode         40 - 82 %   70 - 70 %   up to 1,200.0 TFLOP/s",
            ],
        )
        self.assertEqual(len(self.bench(self.RESULTS, emulated=True).lines), 1)

    def test_a_benchmark_that_fails(self):
        broken = [*self.RESULTS["benchmarks"], {"name": "merge/bf16", "error_occurred": True}]
        outcome = self.bench({**self.RESULTS, "benchmarks": broken})
        self.assertFalse(outcome.good)
        self.assertIn("4 measured, 1 failed", outcome.lines[0])
        self.assertFalse(self.bench(self.RESULTS, status=1).good)
        self.assertFalse(self.bench({**self.RESULTS, "benchmarks": []}).good)
        self.assertFalse(self.bench("no JSON").good)


if __name__ == "__main__":
    unittest.main()
