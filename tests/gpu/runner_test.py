#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of GPU tests must be able to fail: programs that only pretend are run by it."""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import run_gpu_test as runner

CASES = "echo '[doctest] test cases: 2 | 2 passed | 0 failed | 0 skipped'\n"
PASSES = CASES + "echo '[doctest] Status: SUCCESS!'\n"
LAUNCHES = "echo 'PTXEMU summary: 0 reports, 3 kernel launches' >&2\n"


class Runner(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)
        (self.place / "libcudart.so.13").touch()
        self.log = self.place / "log"
        inherited = {"PTXEMU_ORDER": "revw", "PTXEMU_STRICT": "0", "LD_LIBRARY_PATH": "/elsewhere"}
        patch = mock.patch.dict(os.environ, inherited)
        patch.start()
        self.addCleanup(patch.stop)
        os.environ.pop("ALLOT_GPU_SCHEDULES", None)

    def run_fake(self, script: str, *words: str, device=None, mode="auto") -> tuple:
        """(status, output) of the runner on a program that is this shell script."""
        fake = self.place / "fake"
        fake.write_text("#!/bin/sh\n" + script)
        fake.chmod(0o755)
        output = io.StringIO()
        command = ["--mode", mode, "--ptxemu", str(self.place), "--archs", "90a,80", *words, "--", str(fake)]
        with contextlib.redirect_stdout(output):
            status = runner.main(command, find=lambda oldest: device if oldest == 80 else None)
        return status, output.getvalue()

    def passes(self, line: str, script: str, *words: str, **more):
        status, output = self.run_fake(script, *words, **more)
        self.assertEqual((status, output.splitlines()[-1]), (0, line), output)

    def fails(self, why: str, script: str, *words: str, **more):
        status, output = self.run_fake(script, *words, **more)
        self.assertEqual(status, 1, output)
        self.assertIn(why, output)

    def test_sums_over_the_schedules(self):
        self.passes("ran 18 kernels on ptxemu, 6 schedules", PASSES + LAUNCHES)

    def test_no_kernel(self):
        self.fails("it launched no kernel", PASSES + "echo 'PTXEMU summary: 0 reports, 0 kernel launches' >&2\n")

    def test_no_kernel_under_one_schedule(self):
        none = 'test $PTXEMU_ORDER = rev || exec echo "PTXEMU summary: 0 reports, 3 kernel launches" >&2\n'
        none += "echo 'PTXEMU summary: 0 reports, 0 kernel launches' >&2\n"
        self.fails("under schedule rev/1/1: it launched no kernel", PASSES + none)

    def test_not_on_ptxemu(self):
        self.fails("no summary line", PASSES)
        self.fails("no summary line", PASSES + "echo 'PTXEMU summary: 0 reports, 3 kernel launches'\n")
        self.fails("no summary line", PASSES + LAUNCHES.replace("PTXEMU", "no PTXEMU"))

    def test_no_success(self):
        self.fails("doctest ran no test case", LAUNCHES)
        self.fails("doctest ran no test case", PASSES.replace(": 2 ", ": 0 ") + LAUNCHES)
        self.fails("doctest does not report success", CASES + "echo '[doctest] Status: FAILURE!'\n" + LAUNCHES)
        self.fails("exit status 1", PASSES + LAUNCHES + "exit 1")
        self.fails("exit status -6", PASSES + LAUNCHES + "kill -ABRT $$")

    def test_reports(self):
        self.fails("exit status 86", PASSES + LAUNCHES.replace(" 0 reports", " 1 reports") + "exit 86")
        self.fails("ptxemu reports something", PASSES + LAUNCHES.replace(" 0 reports", " 1 reports"))

    def test_a_failure_can_be_repeated(self):
        _, output = self.run_fake("exit 3")
        again = output.splitlines()[-1]
        self.assertIn("again: LD_LIBRARY_PATH=", again)
        self.assertIn("PTXEMU_STRICT=1 PTXEMU_ORDER=fwd PTXEMU_BLOCKS=1 PTXEMU_DEFER=0 ", again)

    def test_settings(self):
        log = f"echo $PTXEMU_STRICT $PTXEMU_ORDER/$PTXEMU_BLOCKS/$PTXEMU_DEFER $LD_LIBRARY_PATH >>{self.log}\n"
        self.passes("ran 18 kernels on ptxemu, 6 schedules", log + PASSES + LAUNCHES)
        path = f"{self.place}:/elsewhere"
        self.assertEqual(self.log.read_text().splitlines(), [f"1 {s} {path}" for s in runner.DEFAULT])

    def test_chosen_schedules(self):
        os.environ["ALLOT_GPU_SCHEDULES"] = "all"
        self.passes("ran 48 kernels on ptxemu, 16 schedules", PASSES + LAUNCHES)
        os.environ["ALLOT_GPU_SCHEDULES"] = "rand7/2/0,revw/1/1"
        self.passes("ran 6 kernels on ptxemu, 2 schedules", PASSES + LAUNCHES)
        for wrong in ("rand7", "rand/1/0", "fwd/0/0", "fwd/1/2", "fwd/1/0,"):
            os.environ["ALLOT_GPU_SCHEDULES"] = wrong
            with self.assertRaises(SystemExit):
                self.run_fake(PASSES + LAUNCHES)

    def test_schedules_of_the_test(self):
        words = ("--schedules", "fwd/1/0,rev/4/1")
        self.passes("ran 6 kernels on ptxemu, 2 schedules", PASSES + LAUNCHES, *words)
        os.environ["ALLOT_GPU_SCHEDULES"] = "rand7/2/0"
        self.passes("ran 3 kernels on ptxemu, 1 schedules", PASSES + LAUNCHES, *words)
        os.environ["ALLOT_GPU_SCHEDULES"] = "default"
        self.passes("ran 18 kernels on ptxemu, 6 schedules", PASSES + LAUNCHES, *words)

    def test_default_covers(self):
        self.assertEqual(len(set(runner.ALL)), 16)
        self.assertLessEqual(set(runner.DEFAULT), set(runner.ALL))
        settings = [tuple(s.replace("rand2", "rand1").split("/")) for s in runner.DEFAULT]
        for first, second in ((0, 1), (0, 2), (1, 2)):
            pairs = {(s[first], s[second]) for s in settings}
            self.assertEqual(len(pairs), 4 if first else 6)

    def test_seeded(self):
        seeded = "echo 'PTXEMU UNINIT-GLOBAL: kernel k' >&2\n" + LAUNCHES.replace(" 0 reports", " 1 reports")
        words = ("--seeded", "UNINIT-GLOBAL")
        self.passes("ran 18 kernels on ptxemu, 6 schedules", seeded + "exit 86", *words)
        self.passes("ran 18 kernels on ptxemu, 6 schedules", seeded + "exit 86", *words, device="any")
        self.fails("the seeded bug went unnoticed", PASSES + LAUNCHES, *words)
        self.fails("the seeded bug went unnoticed", seeded + "exit 1", *words)
        self.fails("but not UNINIT-GLOBAL", seeded.replace("GLOBAL", "SHARED") + "exit 86", *words)
        self.fails("no summary line", "exit 86", *words)

    def test_device(self):
        self.passes("ran on device H1, 3 times", PASSES, device="H1")
        self.passes("ran on device H1, 3 times", PASSES, device="H1", mode="device")
        self.fails("on device H1: exit status 1", PASSES + "exit 1", device="H1")
        self.fails("doctest ran no test case", "", device="H1")
        self.fails("it ran on ptxemu", PASSES + LAUNCHES, device="H1")
        self.fails("no GPU that can run the tests", PASSES, mode="device")
        self.passes("ran 18 kernels on ptxemu, 6 schedules", PASSES + LAUNCHES, device="H1", mode="emulated")

    def test_skip(self):
        self.assertEqual(self.run_fake("", "--skip", "no nvcc"), (77, "skipped: no nvcc\n"))
        (self.place / "libcudart.so.13").unlink()
        status, output = self.run_fake("")
        self.assertEqual((status, output.count("\n")), (77, 1))
        self.fails("no libcudart.so.13 of ptxemu", "", mode="emulated")


if __name__ == "__main__":
    unittest.main()
