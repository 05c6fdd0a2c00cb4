# SPDX-License-Identifier: Apache-2.0
"""`allot doctor`: the same in text and in JSON, on any machine; kernels as docs/attention.md has them."""

import json
import os
from pathlib import Path
import re
import unittest

import allot_cli
from allot_cli import run
from terminal_test import on_terminal

KERNELS = """\
    head_dim  v_head_dim  elements
          64          64  fp16 bf16 fp8
          96          96  fp16 bf16 fp8
         128         128  fp16 bf16 fp8
         192         192  fp16 bf16 fp8
         256         256  fp16 bf16 fp8
         192         128  fp16 bf16 fp8
         576         512  fp16 bf16 fp8
"""
DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "attention.md"


class Doctor(unittest.TestCase):
    maxDiff = None

    def answer(self):
        done = run("doctor", "--json")
        self.assertEqual((done.returncode, done.err), (0, ""))
        self.assertEqual(done.out.count("\n"), 1)
        return json.loads(done.out)

    def test_text(self):
        done = run("doctor")
        self.assertEqual((done.returncode, done.err), (0, ""))
        self.assertTrue(done.out.startswith(run("--version").out + "\n"), done.out)
        self.assertTrue(done.out.endswith(KERNELS), done.out)
        self.assertLessEqual(max(map(len, done.out.splitlines())), 80)
        labels = re.findall(r"^  (\w+(?: \d+)?) +", done.out, re.MULTILINE)
        devices = [f"gpu {i}" for i in range(len(self.answer()["cuda"]["devices"]))]
        self.assertEqual(labels[:-1], ["host", "memory", "cuda", *devices])

    def test_json_is_complete(self):
        answer = self.answer()
        self.assertEqual(list(answer), ["version", "host", "cuda", "attention"])
        self.assertEqual(list(answer["host"]), ["threads", "total_bytes", "available_bytes", "limit_bytes"])
        self.assertGreaterEqual(answer["host"]["threads"], len(os.sched_getaffinity(0)))
        self.assertEqual(list(answer["cuda"]), ["built", "why_no_device", "devices"])
        self.assertEqual(answer["cuda"]["why_no_device"] is None, answer["cuda"]["devices"] != [])
        if not answer["cuda"]["built"]:
            self.assertEqual(answer["cuda"]["devices"], [])
            self.assertIn("not built in", run("doctor").out)

    def test_memory_is_the_machines(self):
        host = self.answer()["host"]
        page = os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(host["total_bytes"], os.sysconf("SC_PHYS_PAGES") * page)
        self.assertLessEqual(host["available_bytes"], host["total_bytes"])
        self.assertGreater(host["available_bytes"], 1 << 20)
        total = format(host["total_bytes"], ",")
        self.assertIn(f" of {total} B", run("doctor", "--bytes").out)

    def test_kernels_are_those_of_the_table_and_of_the_documentation(self):
        kernels = [(k["head_dim"], k["v_head_dim"], k["dtype"]) for k in self.answer()["attention"]]
        listed = []
        for line in KERNELS.splitlines()[1:]:
            head_dim, v_head_dim, *elements = line.split()
            listed += [(int(head_dim), int(v_head_dim), e) for e in elements]
        self.assertEqual(kernels, listed)
        row = next(x for x in DOCUMENTED.read_text().splitlines() if x.startswith("| head_dim / v_head_dim"))
        shapes = re.findall(r"\d+(?:/\d+)?", row.split("|")[2].split("(")[0])
        documented = [tuple(map(int, s.split("/"))) if "/" in s else (int(s), int(s)) for s in shapes]
        self.assertEqual([(a, b) for a, b, e in kernels if e == "bf16"], documented)

    def test_colours_on_a_terminal_only(self):
        self.assertNotIn("\033", run("doctor").out)
        self.assertIn("\033", on_terminal(["doctor"]))
        self.assertNotIn("\033", on_terminal(["doctor"], NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal(["doctor", "--json"]))

    def test_takes_no_input(self):
        for words, said in ((["here"], "here: not expected here\n"), (["--jsn"], "did you mean --json?")):
            done = run("doctor", *words)
            self.assertEqual((done.returncode, done.out), (2, ""))
            self.assertIn(said, done.err)


if __name__ == "__main__":
    allot_cli.start()
