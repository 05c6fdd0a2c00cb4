# SPDX-License-Identifier: Apache-2.0
"""`allot solve`: a line in, a line out, at once; exit status 2 when a line was no request."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
import unittest

import allot_cli
from allot_cli import run

REQUEST = {"id": 1, "budget": {"bytes": 940},
           "kv": [{"family": "raw", "page_bytes": 10, "page_tokens": 64}],
           "experts": {"slot_bytes": 100, "per_layer": 2, "layers": 25},
           "demand": {"min_tokens": 256}}


class Solve(unittest.TestCase):
    def test_one_answer_a_line_in_order(self):
        lines = [json.dumps({**REQUEST, "id": i, "budget": {"bytes": 900 + 20 * i}})
                 for i in range(200)]
        done = run("solve", text=("\n\n".join(lines) + "\n").encode())
        self.assertEqual(done.returncode, 0)
        answers = [json.loads(x) for x in done.out.splitlines()]
        self.assertEqual([a["id"] for a in answers], list(range(200)))
        self.assertEqual((answers[2]["slots"], answers[2]["usable_pages"]), (8, 13))

    def test_refusals_are_answers(self):
        done = run("solve", text=json.dumps({**REQUEST, "budget": {"bytes": 10}}).encode())
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.out)["error"], "floors_exceed_budget")

    def test_a_line_that_is_no_request_is_answered_and_remembered(self):
        good = json.dumps(REQUEST)
        done = run("solve", text=f"{good}\n{{oops\n{good}\n".encode())
        self.assertEqual(done.returncode, 2)
        self.assertEqual([json.loads(x)["ok"] for x in done.out.splitlines()], [True, False, True])

    def test_a_file_reads_like_the_standard_input(self):
        text = (json.dumps(REQUEST) + "\n").encode()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "requests.jsonl"
            file.write_bytes(text)
            self.assertEqual(run("solve", file).out, run("solve", "-", text=text).out)
        self.assertEqual(run("solve", text=b"").returncode, 0)

    def test_a_peer_that_waits_for_its_answer_gets_it(self):
        with subprocess.Popen([allot_cli.ALLOT, "solve"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as peer:
            for i in range(3):
                peer.stdin.write((json.dumps({**REQUEST, "id": i}) + "\n").encode())
                peer.stdin.flush()
                self.assertEqual(json.loads(peer.stdout.readline())["id"], i)
            peer.stdin.close()
            self.assertEqual(peer.wait(timeout=60), 0)

    def test_the_example_of_the_help_is_answered(self):
        example = run("solve", "--help").out.split("Example\n")[1]
        bin_dir = os.path.dirname(allot_cli.ALLOT)
        done = subprocess.run(["sh", "-c", example], capture_output=True, timeout=60,
                              env={**os.environ, "PATH": bin_dir + ":" + os.environ["PATH"]})
        self.assertEqual(done.returncode, 0)
        self.assertTrue(json.loads(done.stdout)["ok"])

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        for args in (["solve"], ["plan", "Qwen--Qwen3-8B.json", "--free", "24GiB"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([allot_cli.ALLOT, *args], stdout=full, cwd=allot_cli.MODELS,
                                      stderr=subprocess.PIPE, timeout=60,
                                      input=(json.dumps(REQUEST) + "\n").encode())
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"standard output", done.stderr)


if __name__ == "__main__":
    allot_cli.start()
