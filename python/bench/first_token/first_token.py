#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time to the first token of evicted prompts, end to end: two processes, a coordinator, a model.

Usage: first_token.py [--device cuda:0] [--json FILE] [--prompts N] [--tokens N] [--bursts N]
                      [--shape llama-8b|small] [--maths torch|numpy] [--coordinator-binary FILE]
                      [--curves DIR]

One process is an engine with a model of random weights and a paged KV cache. It computes N prompts,
and keeps what it computed in one of four ways: not at all, in page-locked memory of its own, in
libaqua's host tier, in memory that the other process, a neighbour on the same GPU, has lent. Its
cache is then overwritten, and N requests come at once, one for each prompt. Keys and values that come back
must be those of before, bit by bit: status 1 if not. 77 where PyTorch or the GPU is missing. Logits that
differ are counted: computing again gives others on a GPU (18 of 96 on an H200), as PyTorch allows itself.

On an emulated GPU (--device emu:0) it runs in small, with PyTorch or NumPy, and its times say nothing
of a GPU. AQUA_LIBRARY names the libaqua.so."""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator, List
from contextlib import contextmanager

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import aqua_kv  # noqa: E402

import report  # noqa: E402
from engine import Engine  # noqa: E402
from maths import Maths, NumpyMaths, TorchMaths  # noqa: E402
from model import BLOCK_TOKENS, LLAMA_8B, SMALL, Model, Shape  # noqa: E402
from place import OnEmulatedGpu, OnGpu, Place  # noqa: E402
from ways import Pinned, Recompute, Tensors, Way  # noqa: E402

MIB = 1 << 20
SHAPES = {"llama-8b": LLAMA_8B, "small": SMALL}


def skip(why: str) -> None:
    print(f"first_token: skipped: {why}")
    raise SystemExit(77)


def maths_for(options: argparse.Namespace) -> Maths:
    if options.maths == "numpy":
        return NumpyMaths()
    try:
        import torch
    except ImportError:
        skip("no PyTorch here")
    if options.device.startswith("emu"):
        return TorchMaths()
    if not torch.cuda.is_available():
        skip("PyTorch sees no GPU here")
    return TorchMaths(options.device)


@contextmanager
def started(command: List[str], ready: str) -> Iterator[None]:
    """A process that has printed a line which begins with `ready`; it ends with the block."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, PYTHONPATH=str(HERE.parents[1])))
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(ready):
            raise SystemExit(f"first_token: {command[1]} said {line!r}")
        yield
    finally:
        process.terminate()
        process.wait()


def until(holds: Any, what: str) -> None:
    end = time.monotonic() + 120
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"first_token: never: {what}")
        time.sleep(0.01)


def measure(options: argparse.Namespace, maths: Maths, shape: Shape, coordinator: str,
            directory: str, write: Any) -> None:
    blocks = options.prompts * -(-options.tokens // BLOCK_TOKENS)
    element_bytes = getattr(maths, "element_bytes")
    block_bytes = shape.block_bytes(element_bytes)
    kept = 2 * shape.layers * blocks * block_bytes
    on_gpu = not options.device.startswith("emu")
    slab = (64 if on_gpu else 2) * MIB
    lent = (kept // slab + 2 * (1 + options.prompts)) * slab
    emulated = None if on_gpu else aqua_kv.EmulatedGpu(total_bytes=4 * lent)
    neighbour = [sys.executable, str(HERE / "lender.py"), options.neighbour, coordinator, directory,
                 str(lent), str(slab)]
    with started(neighbour, "lent"), aqua_kv.Runtime.open(
        device=options.device, coordinator=coordinator, name="engine", host_bytes=lent,
        max_peer_bytes=lent, socket_directory=directory, curve_directory=options.curves,
        slab_bytes=slab, emulated=emulated,
    ) as runtime:
        planes, cells = 2 * shape.layers, (blocks * BLOCK_TOKENS, shape.kv_heads, shape.head_dim)
        place: Place
        if on_gpu:
            place = OnGpu(maths, planes, cells, block_bytes)
        else:
            place = OnEmulatedGpu(runtime, maths, planes, cells, block_bytes)
        layout = aqua_kv.Layout.mha(
            place.addresses[0::2], place.addresses[1::2], block_count=blocks,
            tokens_per_block=BLOCK_TOKENS, kv_heads=shape.kv_heads, head_dim=shape.head_dim,
            element_bytes=element_bytes)
        engine = Engine(place, maths, Model(maths, shape), options.prompts, options.tokens)
        until(lambda: runtime.status().peer.capacity_bytes >= kept, "enough memory leased")
        ways: List[Way] = [
            Recompute(), Pinned(), Tensors(runtime, layout, aqua_kv.Tier.HOST),
            Tensors(runtime, layout, aqua_kv.Tier.PEER)]
        for way in ways:
            engine.fill(way)
            engine.burst(way)  # nothing is warm the first time
            before = runtime.status().copies
            bursts = [engine.burst(way) for _ in range(options.bursts)]
            ran = report.copies_since(before, runtime.status().copies)
            wrong = sum(len(burst.wrong) for burst in bursts) if way.restores else None
            other_logits = sum(len(burst.other_logits) for burst in bursts)
            write(report.row(way.name, [burst.seconds for burst in bursts], wrong, other_logits, ran))
            way.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--neighbour", metavar="DEVICE", help="of the other process (the same)")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=4096, help="of each prompt, at least 2")
    parser.add_argument("--bursts", type=int, default=3)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="llama-8b")
    parser.add_argument("--maths", choices=("torch", "numpy"), default="torch")
    parser.add_argument("--coordinator-binary", default="aqua-coordinator")
    parser.add_argument("--curves", metavar="DIR", default="", help="as Runtime.open has it")
    options = parser.parse_args()
    if options.maths == "numpy" and not options.device.startswith("emu"):
        parser.error("--maths numpy: on an emulated GPU only")
    if min(options.prompts, options.bursts) < 1 or options.tokens < 2:
        parser.error("at least 1 prompt, 2 tokens, 1 burst")
    # A neighbour on an emulated GPU has one of its own: their memory is shared all the same.
    options.neighbour = options.neighbour or options.device.replace("emu:0", "emu:1")
    return options


def main() -> int:
    options = parse()
    maths = maths_for(options)
    commit = HERE.parents[2] / "commit"
    told = {
        "benchmark": "first_token", "complete": False, "device": options.device,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit.read_text().strip() if commit.exists() else None,
        "maths": maths.name, "shape": options.shape, "prompts": options.prompts,
        "tokens": options.tokens, "libaqua": aqua_kv.library_version(), "goals": [], "results": [],
    }

    def write(row: Any) -> None:
        told["results"].append(row)
        told["goals"] = report.goals(told["results"])
        if options.json:
            Path(options.json).write_text(report.text(told))
        wrong = "computed anew" if row["wrong_bytes"] is None else f"wrong bytes in {row['wrong_bytes']}"
        print(f"{row['way']:24} TTFT p50 {row['ttft_p50_s'] * 1e3:9.2f} ms, p99 "
              f"{row['ttft_p99_s'] * 1e3:9.2f} ms, {wrong}, other logits in {row['other_logits']}", flush=True)

    with tempfile.TemporaryDirectory() as directory:
        address = f"unix:{directory}/coordinator.sock"
        daemon = [options.coordinator_binary, "--listen", address, "--data", directory,
                  "--log-level", "warn"]
        if options.neighbour == options.device:
            daemon.append("--share-device")
        with started(daemon, "listening on"):
            measure(options, maths, SHAPES[options.shape], address, directory, write)
    told["complete"] = True
    if options.json:
        Path(options.json).write_text(report.text(told))
    wrong = sum(row["wrong_bytes"] or 0 for row in told["results"])
    if wrong:
        print(f"first_token: {wrong} requests got other keys and values than their prompt's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
