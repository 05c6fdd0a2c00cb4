# SPDX-License-Identifier: Apache-2.0
"""Wrong input: exit status 2, one message on stderr that names what is wrong and what would be right."""

import json
import random
import tempfile
from pathlib import Path
import unittest

import allot_cli
from allot_cli import index, run

QWEN = "Qwen--Qwen3-8B.json"
MOE = "Qwen--Qwen3-30B-A3B.json"
FREE = ["--free", "24GiB"]

# arguments, parts of the message
OPTIONS = [
    ([], ["expected a command", "plan, solve, verify or doctor"]),
    (["frob"], ["frob", "no such command", "plan, solve, verify or doctor"]),
    (["plan"], ["MODEL", "missing", "config.json"]),
    (["plan", QWEN], ["--free: missing", "--free 24GiB"]),
    (["plan", QWEN, "--free"], ["--free", "value is missing"]),
    (["plan", QWEN, "--free", "24G"], ["--free 24G", "24GiB", "24GB"]),
    (["plan", QWEN, "--free", "-5"], ["--free -5", "expected a size"]),
    (["plan", QWEN, "--free", "x"], ["--free x", "expected a size"]),
    (["plan", QWEN, "--free", "9000000TiB"], ["9000000TiB", "at most 9223372036854775807"]),
    (["plan", QWEN, *FREE, "--free", "1GiB"], ["--free: given twice"]),
    (["plan", QWEN, *FREE, "--fre", "3"], ["--fre", "did you mean --free?"]),
    (["plan", QWEN, *FREE, "--zzzzzz"], ["--zzzzzz", "no such option"]),
    (["plan", QWEN, *FREE, MOE], [MOE, "not expected"]),
    (["plan", QWEN, *FREE, "--context", "0"], ["--context 0", "at least 1", "128k"]),
    (["plan", QWEN, *FREE, "--context", "1.3k"], ["--context 1.3k", "1331 or 1332"]),
    (["plan", QWEN, *FREE, "--ratio", "1.5"], ["--ratio 1.5", "at most 1", "0.9"]),
    (["plan", QWEN, *FREE, "--ratio", "nan"], ["--ratio nan"]),
    (["plan", QWEN, *FREE, "--weights", "-1"], ["--weights -1", "expected a size"]),
    (["plan", QWEN, *FREE, "--charge", "512MiB"], ["--charge 512MiB", "NAME=BYTES"]),
    (["plan", QWEN, *FREE, "--charge", "a=-3"], ["--charge a -3", "expected a size"]),
    (["plan", QWEN, *FREE, "--kv-dtype", "bf8"], ["--kv-dtype bf8", "bf16", "fp8"]),
    (["plan", QWEN, *FREE, "--tp", "0"], ["--tp 0", "at least 1"]),
    (["plan", QWEN, *FREE, "--tp", "3"], ["--tp 3", "8 KV heads", "--tp 2", "--tp 4"]),
    (["plan", MOE, *FREE, "--tp", "5"], ["--tp 5", "768", "divisor"]),
    (["plan", QWEN, *FREE, "--tokens", "100"], ["--tokens 100", "96 or 112"]),
    (["plan", QWEN, *FREE, "--tokens", "7"], ["--tokens 7", "expected 16"]),
    (["plan", QWEN, *FREE, "--pages", "3", "--tokens", "32"], ["--pages and --tokens"]),
    (["plan", QWEN, *FREE, "--slots", "5"], ["--slots 5", "no experts"]),
    (["plan", QWEN, *FREE, "--prefill-buffer", "required"], ["--prefill-buffer", "no experts"]),
    (["plan", QWEN, *FREE, "--expert-format", "bf16"], ["--expert-format", "no experts"]),
    (["plan", MOE, *FREE, "--slots", "5"], ["--slots 5", "128 to 6144", "--slots 128"]),
    (["plan", MOE, *FREE, "--slots", "6145"], ["--slots 6145", "128 to 6144"]),
    (["plan", MOE, *FREE, "--prefill-buffer", "on"], ["--prefill-buffer on", "preferred"]),
    (["plan", MOE, *FREE, "--expert-format", "int4"], ["--expert-format int4", "nvfp4"]),
    (["plan", MOE, *FREE, "--tp", "2", "--expert-format", "q4_k"], ["q4_k", "256", "384"]),
    (["plan", MOE, *FREE, "--objective", "both"], ["--objective both", "context_first"]),
    (["plan", MOE, *FREE, "--max-running", "0"], ["--max-running 0", "at least 1"]),
    (["plan", MOE, *FREE, "--page-tokens", "x"], ["--page-tokens x", "at least 1"]),
    (["plan", MOE, *FREE, "--page-tokens", "9000000000000000000"], ["2^63"]),
    (["plan", QWEN, *FREE, "--context", "9000000000000000000"], ["2^63"]),
    (["plan", "zai-org--GLM-4.5-Air.json", *FREE, "--objective", "context_first"],
     ["--context", "max_position_embeddings", "context_first"]),
    (["plan", "Qwen/Qwen3-8B", *FREE], ["Qwen/Qwen3-8B", "no such file", "config.json"]),
    (["plan", ".", *FREE], ["holds no config.json"]),
    (["plan", "/dev/zero", *FREE], ["/dev/zero", "16 MiB"]),
    (["solve", "missing.jsonl"], ["missing.jsonl", "No such file"]),
    (["solve", "a", "b"], ["b", "not expected"]),
    (["solve", "--json"], ["--json", "no such option"]),
]


class Errors(unittest.TestCase):
    def test_messages_name_the_option_its_value_and_what_would_be_right(self):
        for args, parts in OPTIONS:
            with self.subTest(args=args):
                done = run(*args)
                self.assertEqual(done.returncode, 2, done.out)
                self.assertEqual(done.out, "")
                self.assertTrue(done.err.startswith("allot: "), done.err)
                for part in parts:
                    self.assertIn(part, done.err)

    def test_models_of_other_kinds_are_refused_by_a_field(self):
        refused = 0
        for entry in index():
            if entry["facts"]["family"] in allot_cli.PLANNED:
                continue
            with self.subTest(entry["id"]):
                done = run("plan", entry["file"], *FREE)
                self.assertEqual(done.returncode, 2)
                self.assertIn(entry["file"] + ": ", done.err)
                self.assertIn("need", done.err)
                refused += 1
        self.assertEqual(refused, 12)

    def test_a_solver_refusal_in_json_is_an_answer(self):
        done = run("plan", QWEN, *FREE, "--tokens", "100", "--json")
        self.assertEqual(done.returncode, 2)
        answer = json.loads(done.out)
        self.assertEqual(answer["error"], "not_a_page_multiple")
        self.assertEqual(answer["ledger"], [])
        self.assertEqual(answer["request"]["demand"]["tokens"], 100)

    def test_damaged_files_never_crash_it(self):
        text = (allot_cli.MODELS / "nvidia--Qwen3.6-35B-A3B-NVFP4.json").read_bytes()
        chance = random.Random(7)
        statuses = {0: 0, 1: 0, 2: 0}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.json"
            for _ in range(150):
                damaged = bytearray(text)
                for _ in range(chance.randint(1, 3)):
                    damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                file.write_bytes(damaged[: chance.choice([len(damaged), chance.randrange(2000)])])
                done = run("plan", file, *FREE)  # asserts that no signal ended it
                statuses[done.returncode] += 1
                if done.returncode == 2:
                    self.assertIn("allot: ", done.err)
        self.assertGreaterEqual(statuses[2], 50)
        self.assertGreaterEqual(statuses[0], 2)

    def test_help_is_complete_and_narrow(self):
        asked = (["--help"], ["plan", "--help"], ["solve", "-h"], ["verify", "-h"], ["doctor", "-h"])
        top, plan, *others = (run(*a).out for a in asked)
        for text in (top, plan, *others):
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertIn("Exit status", text)
        for command in ("plan", "solve", "verify", "doctor"):
            self.assertIn(command, top)
        for option in ("--free BYTES", "--ratio", "--weights BYTES", "--context TOKENS",
                       "--max-running", "--page-tokens", "--kv-dtype", "--expert-format", "--tp",
                       "--slots", "--pages", "--tokens TOKENS", "--max-tokens", "--charge NAME=BYTES",
                       "--objective", "--prefill-buffer", "--json", "--bytes", "--mtp"):
            self.assertIn("  " + option, plan)
        self.assertRegex(run("--version").out, r"^allot \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    allot_cli.start()
