# SPDX-License-Identifier: Apache-2.0
"""`allot verify`: what solve plans is allocated, and measured to the byte."""

import copy
import json
from pathlib import Path
import re
import subprocess
import unittest

import allot_cli
from allot_cli import run

VECTORS = Path(__file__).resolve().parent.parent / "data" / "vectors"
REQUEST = {"id": 1, "budget": {"bytes": 1 << 20},
           "kv": [{"family": "gqa", "layers": 4, "kv_heads": 2, "head_dim": 64, "dtype": "bf16",
                   "page_tokens": 16}],
           "experts": {"slot_bytes": 4096, "per_layer": 4, "layers": 8},
           "charges": [{"name": "workspace", "bytes": 10000}],
           "demand": {"min_tokens": 64}}


def vector_requests(file):
    return [json.loads(x)["req"] for x in (VECTORS / file).read_text().splitlines()]


def lines(requests):
    return ("\n".join(json.dumps(r) for r in requests) + "\n").encode()


def answers(command, requests, *options):
    done = run(command, *options, text=lines(requests))
    return done.returncode, [json.loads(x) for x in done.out.splitlines()]


def with_granularity(request):
    """What verify makes of a request: granularity in whole allocations of 256 bytes."""
    out = copy.deepcopy(request)
    given = out.get("granularity") or 1
    if isinstance(given, int) and given > 0:
        out["granularity"] = (given + 255) // 256 * 256
    return out


class Verify(unittest.TestCase):
    maxDiff = None

    def check(self, requests):
        """Verifies requests, and holds every answer against the plan. Returns plans, refusals."""
        _, solved = answers("solve", map(with_granularity, requests))
        status, verified = answers("verify", requests)
        self.assertEqual(len(verified), len(requests))
        plans = refusals = 0
        for request, plan, got in zip(requests, solved, verified):
            if not plan["ok"]:
                refusals += 1
                # A granularity is no repair where verify rounds it up again.
                kept = [r for r in plan["repairs"] if r["set"] != "granularity"]
                self.assertEqual(got, {**plan, "repairs": kept})
                continue
            plans += 1
            size = plan["bytes"]
            charges = sum(c["bytes"] for c in request.get("charges") or [])
            planned = size["fixed"] + size["experts"] + size["kv"] - charges
            arena = size["budget"] - charges
            peak = arena if request.get("arrangement") == "page_major" else planned
            self.assertEqual(got, {"id": request.get("id"), "ok": True, "planned_bytes": planned,
                                   "carved_bytes": planned, "peak_bytes": peak})
        return status, plans, refusals

    def test_every_request_of_the_contract(self):
        _, plans, refusals = self.check(vector_requests("solve_contract.jsonl"))
        self.assertGreater(plans, 100)
        self.assertGreater(refusals, 100)

    def test_windows_tiers_and_state_in_every_arrangement(self):
        for arrangement in ("flat", "page_major", "layer_major"):
            requests = [{**r, "arrangement": arrangement}
                        for r in vector_requests("solve_wide.jsonl")]
            status, plans, refusals = self.check(requests)
            self.assertEqual((status, plans + refusals), (0, 300))
            self.assertGreater(plans, 180)

    def test_every_arrangement(self):
        requests = []
        for arrangement in ("flat", "page_major", "layer_major"):
            for budget in range(50_000, 1_300_000, 9_973):
                for granularity in (1, 512, 4096):
                    requests.append({**REQUEST, "id": len(requests), "arrangement": arrangement,
                                     "granularity": granularity, "budget": {"bytes": budget}})
        status, plans, refusals = self.check(requests)
        self.assertEqual(status, 0)
        self.assertGreater(plans, 600)
        self.assertGreater(refusals, 0)

    def test_a_real_model_on_a_card_larger_than_the_machine(self):
        done = run("plan", allot_cli.MODELS / "Qwen--Qwen3-30B-A3B.json", "--free", "141GB",
                   "--weights", "2.9GiB", "--context", "64k", "--json")
        request = json.loads(done.out)["request"]
        for arrangement in ("flat", "page_major", "layer_major"):
            status, (got,) = answers("verify", [{**request, "arrangement": arrangement}])
            self.assertEqual(status, 0)
            self.assertEqual(got["planned_bytes"], got["carved_bytes"])
            self.assertGreater(got["peak_bytes"], 50 << 30)

    def test_a_refusal_is_an_answer(self):
        status, (got,) = answers("verify", [{**REQUEST, "budget": {"bytes": 180000}}])
        self.assertEqual((status, got["ok"], got["error"]), (0, False, "floors_exceed_budget"))
        tried = 0
        for repair in got["repairs"]:  # they repair what verify asks, its granularity included
            with self.subTest(repair):
                request = copy.deepcopy(REQUEST)
                request["budget"] = {"bytes": 180000}
                node = request
                *path, name = re.findall(r"[a-z_]+|\d+", repair["set"])
                for key in path:
                    node = node[int(key)] if key.isdigit() else node.setdefault(key, {})
                node[name] = repair["to"]
                _, (again,) = answers("verify", [request])
                self.assertTrue(again["ok"], again)
                tried += 1
        self.assertGreaterEqual(tried, 2)

    def test_memory_that_is_not_there(self):
        request = {"id": "x", "budget": {"bytes": 1 << 62}, "demand": {"min_tokens": 1},
                   "kv": [{"family": "raw", "page_bytes": 1 << 20}]}
        status, got = answers("verify", [request, REQUEST])
        self.assertEqual(status, 1)
        self.assertEqual([a["ok"] for a in got], [False, True])
        self.assertEqual(got[0]["error"], "allocation_failed")
        self.assertGreater(got[0]["asked_bytes"], 1 << 61)
        self.assertIn("bytes asked", got[0]["text"])
        self.assertIsNone(got[0]["free_bytes"])

    def test_a_line_that_is_no_request(self):
        done = run("verify", text=lines([REQUEST]) + b"{oops\n" + lines([{**REQUEST, "id": 2}]))
        self.assertEqual(done.returncode, 2)
        self.assertEqual([json.loads(x)["ok"] for x in done.out.splitlines()], [True, False, True])

    def test_a_device_that_is_not_there(self):
        done = run("verify", "--device", "0", "requests.jsonl")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--device=0", done.err)
        for option in ("--device=17", "--device=-1", "--device=gpu"):
            with self.subTest(option):
                done = subprocess.run([allot_cli.ALLOT, "verify", option], input=b"",
                                      capture_output=True, timeout=120, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(b"--device", done.stderr)


if __name__ == "__main__":
    allot_cli.start()
