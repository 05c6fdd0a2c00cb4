# SPDX-License-Identifier: Apache-2.0
"""The repairs a refusal lists are changes of the command line: each alone makes it fit, and a number
less changed does not."""

import re
import unittest

import allot_cli
from allot_cli import run

REFUSED = [
    "Qwen--Qwen3-30B-A3B.json --free 8GiB --weights 2.9GiB --context 64k",
    "Qwen--Qwen3-30B-A3B.json --free 7GiB --weights 2.9GiB --prefill-buffer required "
    "--charge graphs=1GiB --charge draft=2GiB",
    "Qwen--Qwen3-30B-A3B.json --free 5.9GiB --weights 2.9GiB --prefill-buffer required",
    "Qwen--Qwen3-30B-A3B.json --free 8GiB --weights 2.9GiB --context 64k --bytes",
    "Qwen--Qwen3.5-122B-A10B.json --free 80GiB --weights 9GiB --slots 6000 --pages 4096",
    "Qwen--Qwen3.5-27B.json --free 64GiB --weights 60GiB",
    "Qwen--Qwen3.5-27B.json --free 24GiB --weights 16GiB --max-running 64",
    "Qwen--Qwen3.5-27B.json --free 24GiB --weights 16GiB --max-running 64 --bytes",
    "Qwen--Qwen3-8B.json --free 24GiB --charge a=30GiB --bytes",
    "Qwen--Qwen3-8B.json --free 24GiB --tokens 320000",
    "Qwen--Qwen3-8B.json --free 24GiB --pages 20000 --tokens 16",
    "Qwen--Qwen3-8B.json --free 24GiB --tokens 99",
    "Qwen--Qwen3-8B.json --free 24GiB --tp 6",
    "Qwen--Qwen3.5-27B.json --free 64GiB --tp 3",
    "deepseek-ai--DeepSeek-V3.json --free 11GiB --context 8k --objective context_first",
    "Qwen--Qwen3-8B.json --free 1",
    "Qwen--Qwen3-8B.json --free 24GiB --ratio 0.000001 --weights 3",
]


def repairs_of(done):
    """The listed changes, as (option, value); (option, None) leaves the option out."""
    text = done.out + done.err
    if "Any one of these makes it fit:" not in text:
        return []
    block = text.split("Any one of these makes it fit:\n")[1].split("\n\n")[0]
    out = []
    for line in block.splitlines():
        words = line.split()
        out.append((words[2], None) if words[:2] == ["leave", "out"] else (words[0], words[1]))
    return out


def changed(command, option, value):
    """The command line with one option set, or left out. A charge is replaced by its name."""
    words = command.split()
    if option == "--charge":
        name = value.split("=")[0]
        return ["--charge=" + value if w.startswith(name + "=") and words[i - 1] == "--charge"
                else w for i, w in enumerate(words)
                if not (w == "--charge" and words[i + 1].startswith(name + "="))]
    if option in words:
        at = words.index(option)
        del words[at:at + 2]
    return words if value is None else words + [option, value]


class Repairs(unittest.TestCase):
    def test_every_repair_repairs(self):
        tried, options = 0, set()
        for command in REFUSED:
            refused = run("plan", *command.split())
            repairs = repairs_of(refused)
            self.assertIn(refused.returncode, (1, 2))
            self.assertGreaterEqual(len(repairs), 1, command)
            for option, value in repairs:
                with self.subTest(command=command, repair=(option, value)):
                    done = run("plan", *changed(command, option, value))
                    self.assertEqual(done.returncode, 0, done.out + done.err)
                    tried += 1
                    options.add(option)
        self.assertGreaterEqual(tried, 30)
        self.assertGreaterEqual(
            options, {"--free", "--ratio", "--context", "--charge", "--slots", "--tokens", "--tp",
                      "--prefill-buffer", "--max-running", "--kv-dtype", "--pages"})

    def test_numbers_are_tight(self):
        tight = 0
        for command in REFUSED:
            for option, value in repairs_of(run("plan", *command.split())):
                step = {"--context": 1, "--max-running": 1, "--slots": 1, "--free": -1}.get(option)
                if step is None:
                    continue
                number, unit = re.fullmatch(r"(\d+)(MiB|)", value).groups()
                with self.subTest(command=command, repair=(option, value)):
                    less = f"{int(number) + step}{unit}"
                    if less != "0":
                        done = run("plan", *changed(command, option, less))
                        self.assertEqual(done.returncode, 1, done.out)
                        tight += 1
        self.assertGreaterEqual(tight, 12)

    def test_nothing_is_listed_when_nothing_helps(self):
        # The states of one request and one page outgrow the card, and no ratio is left to raise.
        done = run("plan", "Qwen--Qwen3-8B.json", "--free", "100GiB", "--charge", "a=200GiB",
                   "--charge", "b=200GiB")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([o for o, _ in repairs_of(done)], ["--free"])


if __name__ == "__main__":
    allot_cli.start()
