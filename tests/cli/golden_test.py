# SPDX-License-Identifier: Apache-2.0
"""The text of a plan, as committed. ALLOT_UPDATE_GOLDEN=1 rewrites the files: read the difference."""

import os
from pathlib import Path
import unittest

import allot_cli
from allot_cli import run

GOLDEN = Path(__file__).resolve().parent / "golden"
CASES = {
    "hybrid_fits": (0, "nvidia--Qwen3.6-35B-A3B-NVFP4.json --free 23.5GiB --weights 4GiB "
                       "--context 32k --charge workspace=512MiB"),
    "hybrid_exact_bytes": (0, "Qwen--Qwen3-Next-80B-A3B-Thinking.json --free 80GiB --weights 6GiB "
                              "--context 128K --max-running 16 --kv-dtype fp8 --bytes"),
    "moe_fits": (0, "Qwen--Qwen3-30B-A3B.json --free 24GiB --weights 2.9GiB --context 64k"),
    "moe_all_resident": (0, "Qwen--Qwen3-30B-A3B.json --free 80GB --weights 2.9GiB --context 32k"),
    "mla_buffer_dropped": (0, "deepseek-ai--DeepSeek-V3.json --free 24GiB --context 32k"),
    "index_slab": (0, "zai-org--GLM-5.2.json --free 141GB --weights 40GB --expert-format nvfp4"),
    "dense_context_first": (0, "meta-llama--Meta-Llama-3.1-70B.json --free 160GiB "
                               "--weights 131.4GiB --objective context_first"),
    "pins_and_caps": (0, "Qwen--Qwen3-30B-A3B.json --free 48GiB --weights 2.9GiB --tokens 40000 "
                         "--slots 1000 --context 8k --max-tokens 64k --max-running 2"),
    "chunked_attention": (0, "meta-llama--Llama-4-Scout-17B-16E-Instruct.json --free 80GiB "
                             "--weights 20GiB --tp 2"),
    "many_charges": (0, "Qwen--Qwen3-8B.json --free 48GiB --weights 15.3GiB " +
                        " ".join(f"--charge tenant_{i}={i * 10}MiB" for i in range(1, 13))),
    "floors_short": (1, "Qwen--Qwen3-30B-A3B.json --free 8GiB --weights 2.9GiB --context 64k"),
    "buffer_short": (1, "Qwen--Qwen3-30B-A3B.json --free 6.5GiB --weights 2.9GiB "
                        "--prefill-buffer required --charge graphs=512MiB"),
    "pins_short": (1, "Qwen--Qwen3.5-122B-A10B.json --free 80GiB --weights 9GiB --slots 6000 "
                      "--pages 4096"),
    "weights_too_large": (1, "Qwen--Qwen3.5-27B.json --free 48GiB --weights 54GB"),
    "states_short": (1, "Qwen--Qwen3.5-27B.json --free 24GiB --weights 16GiB --max-running 64"),
}


class Golden(unittest.TestCase):
    maxDiff = None

    def test_text_is_as_committed(self):
        for name, (status, command) in CASES.items():
            with self.subTest(name):
                got = run("plan", *command.split())
                self.assertEqual(got.err, "")
                self.assertEqual(got.returncode, status)
                text = f"$ allot plan {command}\n{got.out}"
                file = GOLDEN / f"{name}.txt"
                if os.environ.get("ALLOT_UPDATE_GOLDEN"):
                    file.write_text(text)
                self.assertEqual(text, file.read_text())

    def test_one_file_a_case(self):
        self.assertEqual(sorted(p.stem for p in GOLDEN.glob("*.txt")), sorted(CASES))

    def test_every_text_is_one_screen(self):
        for name, (_, command) in CASES.items():
            with self.subTest(name):
                lines = run("plan", *command.split()).out.splitlines()
                self.assertLessEqual(len(lines), 30)
                self.assertLessEqual(max(map(len, lines)), 80)


if __name__ == "__main__":
    allot_cli.start()
