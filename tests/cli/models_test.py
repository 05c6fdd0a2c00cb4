# SPDX-License-Identifier: Apache-2.0
"""Every planned model: the screen, the JSON answer, and numbers worked out here from the index."""

import json
import unittest

import allot_cli
from allot_cli import planned, run

GIB = 1 << 30
VARIANTS = [
    [],
    ["--context", "32k", "--weights", "8GiB"],
    ["--objective", "context_first", "--context", "16k", "--charge", "a=256MiB", "--charge",
     'odd "name"\\=1MB'],
    ["--page-tokens", "64", "--kv-dtype", "fp8", "--prefill-buffer", "off", "--mtp"],
    ["--tokens", "20480", "--max-tokens", "8k", "--max-running", "9", "--ratio", "0.85"],
    ["--pages", "100", "--tp", "2", "--kv-dtype", "fp16"],
    ["--free", None],  # too small: a refusal
]


def command(entry, extra):
    free = ["--free", "512GiB"]
    if extra == ["--free", None]:
        free, extra = ["--free", "1GiB", "--context", "1M"], []
    return ["plan", entry["file"], *free, *extra]


def kv_bytes_per_token(facts):
    if "mla" in facts:
        row = (facts["mla"]["kv_lora_rank"] + facts["mla"]["qk_rope"]) * 2 * facts["layers"]
        if "indexer" in facts:
            layers = facts["indexer"].get("full_layers", facts["layers"])
            row += facts["indexer"]["head_dim"] * 2 * layers
        return row
    layers = facts["linear"]["full_layers"] if "linear" in facts else facts["layers"]
    return layers * facts["kv_heads"] * 2 * facts["head_dim"] * 2


def state_bytes(facts):
    if "linear" not in facts:
        return 0
    net = facts["linear"]
    keys = net["key_heads"] * net["key_head_dim"]
    values = net["value_heads"] * net["value_head_dim"]
    convolution = (2 * keys + values) * (net["conv_kernel"] - 1) * 2
    return net["linear_layers"] * (convolution + values * net["key_head_dim"] * 4)


class Models(unittest.TestCase):
    def test_numbers_follow_from_the_index(self):
        for entry in planned():
            with self.subTest(entry["id"]):
                facts = entry["facts"]
                got = json.loads(run(*command(entry, []), "--expert-format", "bf16", "--json").out
                                 if "moe" in facts else run(*command(entry, []), "--json").out)
                model = got["model"]
                self.assertEqual(model["id"], entry["id"])
                self.assertEqual(model["max_positions"], facts["max_positions"])
                self.assertEqual(model["kv_bytes_per_token"], kv_bytes_per_token(facts))
                self.assertEqual(model["state_bytes_per_slot"], state_bytes(facts))
                self.assertEqual(model["request_fixed_bytes"], state_bytes(facts))
                moe = facts.get("moe")
                self.assertEqual(model["experts_per_layer"], moe["experts"] if moe else 0)
                self.assertEqual(model["moe_layers"], moe["moe_layers"] if moe else 0)
                self.assertEqual(model["expert_slot_bytes"],
                                 3 * facts["hidden"] * moe["intermediate"] * 2 if moe else 0)
                self.assertEqual(model["dense_weight_bytes"], 0)
                self.assertEqual(model["dense_weight_origin"], "not given")

    def test_piping_the_request_gives_the_same_answer(self):
        outcomes = {True: 0, False: 0}
        requests, answers = [], []
        for entry in planned():
            for extra in VARIANTS:
                done = run(*command(entry, extra), "--json")
                with self.subTest(entry["id"], extra=extra):
                    self.assertEqual(done.err, "")
                    answer = json.loads(done.out)
                    self.assertEqual(done.out.count("\n"), 1)
                    for key in ("model", "ledger"):
                        answer.pop(key)
                    requests.append(answer.pop("request"))
                    answers.append(answer)
                    outcomes[answer["ok"]] += 1
                    self.assertEqual(done.returncode, 0 if answer["ok"] else 1)
        lines = "".join(json.dumps(r) + "\n" for r in requests).encode()
        solved = run("solve", text=lines)
        self.assertEqual(solved.returncode, 0)
        self.assertEqual([json.loads(x) for x in solved.out.splitlines()], answers)
        self.assertEqual(len(answers), 25 * len(VARIANTS))
        self.assertGreaterEqual(min(outcomes.values()), 10)

    def test_the_ledger_adds_up_to_the_budget(self):
        for entry in planned():
            for extra in VARIANTS:
                with self.subTest(entry["id"], extra=extra):
                    got = json.loads(run(*command(entry, extra), "--json").out)
                    budget = got["bytes"]["budget"] if got["ok"] else got["budget_bytes"]
                    self.assertEqual(sum(x["bytes"] for x in got["ledger"]), budget)
                    self.assertLessEqual({x["origin"] for x in got["ledger"]},
                                         {"modelled", "declared"})
                    names = [x["name"] for x in got["ledger"]]
                    self.assertEqual(names[-1], "left")
                    self.assertIn("mla" if "mla" in entry["facts"] else "gqa", names)

    def test_text_of_every_model_is_one_screen_and_says_what_json_says(self):
        for entry in planned():
            for extra in VARIANTS:
                with self.subTest(entry["id"], extra=extra):
                    done = run(*command(entry, extra))
                    lines = done.out.splitlines()
                    self.assertLessEqual(len(lines), 30)
                    self.assertLessEqual(max(map(len, lines)), 80, done.out)
                    got = json.loads(run(*command(entry, extra), "--json").out)
                    self.assertTrue(lines[0].startswith(entry["id"]), lines[0])
                    if got["ok"]:
                        self.assertIn(" fits", lines[0])
                        self.assertIn(f"{got['usable_tokens']:,}", done.out)
                        self.assertIn(f"{got['usable_pages']:,} usable pages", done.out)
                        if "slots" in got and "moe" in entry["facts"]:
                            self.assertIn(f"{got['slots']:,} slots", done.out)
                    else:
                        self.assertIn("does not fit", lines[0])

    def test_stdin_and_folders_read_like_files(self):
        import tempfile
        from pathlib import Path

        source = allot_cli.MODELS / "Qwen--Qwen3-8B.json"
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "Qwen--Qwen3-8B"
            inner.mkdir()
            (inner / "config.json").write_bytes(source.read_bytes())
            args = ["--free", "24GiB", "--json"]
            file = run("plan", source, *args).out
            self.assertEqual(run("plan", inner, *args).out, file)
            self.assertEqual(run("plan", "config.json", *args, cwd=inner).out, file)
            self.assertEqual(run("plan", ".", *args, cwd=inner).out, file)
            piped = run("plan", "-", *args, text=source.read_bytes()).out
            self.assertEqual(piped, file.replace('"Qwen/Qwen3-8B"', '"stdin"'))


if __name__ == "__main__":
    allot_cli.start()
