# SPDX-License-Identifier: Apache-2.0
"""verify_device_test.py ALLOT PTXEMU_LIBDIR VECTORS: `allot verify --device` answers what it answers
for host memory, and says what the card lacks; `allot doctor` sees the card. On ptxemu, whose card is
as large as is asked for."""

import json
import os
from pathlib import Path
import subprocess
import sys

ALLOT, LIBDIR, VECTORS = sys.argv[1:]
MOST = 3 << 30


def verify(requests, *options, memory="16G"):
    library = LIBDIR + os.pathsep + os.environ.get("LD_LIBRARY_PATH", "")
    done = subprocess.run(
        [ALLOT, "verify", *options], capture_output=True, text=True, timeout=300, check=False,
        input="".join(json.dumps(r) + "\n" for r in requests),
        env={**os.environ, "LD_LIBRARY_PATH": library, "PTXEMU_STRICT": "1", "PTXEMU_MEM": memory})
    assert "PTXEMU summary: 0 reports" in done.stderr or not options, done.stderr
    return done.returncode, [json.loads(x) for x in done.stdout.splitlines()]


def doctor(memory):
    """What `allot doctor` says of the card."""
    library = LIBDIR + os.pathsep + os.environ.get("LD_LIBRARY_PATH", "")
    done = subprocess.run([ALLOT, "doctor", "--json"], capture_output=True, text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": library, "PTXEMU_MEM": memory})
    return json.loads(done.stdout)["cuda"]


requests = [json.loads(x)["req"] for x in (Path(VECTORS) / "solve_wide.jsonl").read_text().splitlines()]
tried = 0
for arrangement in ("flat", "page_major", "layer_major"):
    arranged = [{**r, "arrangement": arrangement} for r in requests]
    _, on_host = verify(arranged)
    fitting = [(r, a) for r, a in zip(arranged, on_host) if a.get("peak_bytes", 0) <= MOST]
    status, on_device = verify([r for r, _ in fitting], "--device")
    assert status == 0, on_device
    assert on_device == [a for _, a in fitting]
    tried += sum(a["ok"] for a in on_device)
assert tried > 300, tried

small = {"id": "small", "budget": {"bytes": 8 << 20}, "demand": {"min_tokens": 16},
         "kv": [{"family": "mla", "layers": 2, "latent_dim": 64, "dtype": "bf16"}]}
large = {**small, "id": "large", "budget": {"bytes": 80 << 20}}
status, (refused, held) = verify([large, small], "--device", memory="64M")
assert status == 1, status
assert refused["error"] == "allocation_failed" and "cudaMalloc" in refused["text"], refused
assert 64 << 20 < refused["asked_bytes"] <= 80 << 20 and 0 < refused["free_bytes"] <= 64 << 20
assert held["ok"] and held["peak_bytes"] <= 8 << 20, held
status, _ = verify([], "--device=7")
assert status == 2, status
print(f"{tried} plans were allocated on the device as on the host")

card = {"name": "ptxemu (compute capability 9.0)", "compute_capability": "9.0", "processors": 4,
        "total_bytes": 64 << 20, "free_bytes": 64 << 20}
seen = doctor("64M")
assert seen == {"built": True, "why_no_device": None, "devices": [card]}, seen
