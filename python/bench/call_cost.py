#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs, on an emulated GPU, and the same call from C in the same run.

Usage: call_cost.py [--json FILE] [--batches N]

The calls that an engine makes all the time, in batches; batches of all of them, from Python and
from C, alternate, so that a busy machine disturbs all alike. A call's cost is the median of its
quiet batches, the lowest fifth. Goal: less than 5 us a call. The device's stream is held behind a
gate while a batch is timed: device work is queued, and done outside of it.

AQUA_LIBRARY names a release build's libaqua.so. The C side is compiled with cc when it is run.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import aqua_kv  # noqa: E402
from aqua_kv import emulated  # noqa: E402

MIB = 1 << 20
BLOCKS = 64


class Compared(NamedTuple):
    calls: int  # from Python, in one round
    rounds: int  # in a batch
    python: Callable[[], object]
    c: Callable[[int], int]  # so many rounds


def quiet_median(samples: Sequence[float]) -> float:
    """The median of the lowest fifth."""
    ordered = sorted(samples)
    return statistics.median(ordered[: max(1, len(ordered) // 5)])


def timed(call: Callable[[], object], rounds: int) -> float:
    """Microseconds a round."""
    loop = range(rounds)
    start = time.perf_counter_ns()
    for _ in loop:
        call()
    return (time.perf_counter_ns() - start) / rounds / 1000


def timed_c(call: Callable[[int], int], rounds: int) -> float:
    start = time.perf_counter_ns()
    failed = call(rounds)
    took = time.perf_counter_ns() - start
    if failed:
        raise SystemExit("call_cost: a call from C failed")
    return took / rounds / 1000


def compile_c(directory: str, library: str) -> Any:
    made = f"{directory}/from_c.so"
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-I{HERE.parents[1]}/include", str(HERE / "from_c.c"),
         library, "-o", made],
        check=True,
    )
    return ctypes.CDLL(made)


def comparisons(runtime: aqua_kv.Runtime, c: Any) -> Dict[str, Compared]:
    memory = emulated.allocate(runtime, 4 * BLOCKS * 4096)
    arrays = [memory.array((BLOCKS, 4096), offset=p * BLOCKS * 4096) for p in range(4)]
    layout = aqua_kv.Layout.from_arrays(arrays, planes_per_layer=2)
    tensor = runtime.allocate(layout.packed_bytes(16))
    ticket = runtime.offload(layout, [7], tensor)
    ticket.wait()
    one, sixteen = array.array("i", [7]), array.array("i", range(16))
    listed = list(range(16))
    t, rt = tensor._handle, runtime._handle

    def from_c(function: Any, blocks: Any) -> Callable[[int], int]:
        address, count = ctypes.c_void_p(blocks.buffer_info()[0]), ctypes.c_size_t(len(blocks))
        return lambda n: int(function(layout._handle, address, count, t, ctypes.c_long(n)))

    def plain(function: Any, handle: Any) -> Callable[[int], int]:
        return lambda n: int(function(handle, ctypes.c_long(n)))

    def pin() -> None:
        tensor.pin().close()

    def allocate() -> None:
        runtime.allocate(4096).close()

    return {
        "tier": Compared(1, 2000, lambda: tensor.tier, plain(c.tier, t)),
        "tick": Compared(1, 2000, runtime.tick, plain(c.tick, rt)),
        "ticket_done": Compared(1, 2000, ticket.done, plain(c.ticket_done, ticket._handle)),
        "pin_and_release": Compared(2, 1000, pin, plain(c.pin_and_release, t)),
        "allocate_and_free": Compared(2, 1000, allocate, plain(c.allocate_and_free, rt)),
        "offload_1_block": Compared(
            1, 100, lambda: runtime.offload(layout, one, tensor), from_c(c.offload, one)
        ),
        "offload_16_of_an_array": Compared(
            1, 100, lambda: runtime.offload(layout, sixteen, tensor), from_c(c.offload, sixteen)
        ),
        "offload_16_of_a_list": Compared(
            1, 100, lambda: runtime.offload(layout, listed, tensor), from_c(c.offload, sixteen)
        ),
        "fetch_16_of_an_array": Compared(
            1, 100, lambda: runtime.fetch(tensor, layout, sixteen), from_c(c.fetch, sixteen)
        ),
    }


@contextlib.contextmanager
def held(runtime: aqua_kv.Runtime) -> Iterator[None]:
    """The device's stream stands still, so that what is timed is the calling thread alone."""
    gate = threading.Event()
    emulated.launch(runtime, lambda: gate.wait() and None)
    try:
        yield
    finally:
        gate.set()
        emulated.synchronize(runtime)


def measure(
    runtime: aqua_kv.Runtime, compared: Dict[str, Compared], batches: int
) -> Dict[str, Dict[str, float]]:
    from_python: Dict[str, List[float]] = {name: [] for name in compared}
    from_c: Dict[str, List[float]] = {name: [] for name in compared}
    for batch in range(batches):
        for name, each in compared.items():
            # In turn first, as the second finds warm what both use.
            for python_now in (batch % 2 == 0, batch % 2 != 0):
                with held(runtime):
                    if python_now:
                        from_python[name].append(timed(each.python, each.rounds))
                    else:
                        from_c[name].append(timed_c(each.c, each.rounds))
    report = {}
    for name, each in compared.items():
        python, c = quiet_median(from_python[name]), quiet_median(from_c[name])
        report[name] = {
            "calls": each.calls,
            "python_us_a_call": round(python / each.calls, 4),
            "c_us_a_call": round(c / each.calls, 4),
            "python_adds_us_a_call": round((python - c) / each.calls, 4),
            "python_over_c": round(python / c, 3),
            "python_median_us_a_call": round(
                statistics.median(from_python[name]) / each.calls, 4
            ),
        }
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the report there, too")
    parser.add_argument("--batches", type=int, default=201, help="of each call (201)")
    options = parser.parse_args()
    if options.batches < 1:
        parser.error("--batches: at least 1")
    library = os.environ.get("AQUA_LIBRARY")
    if not library:
        parser.error("AQUA_LIBRARY must name the libaqua.so that is measured")
    with tempfile.TemporaryDirectory() as directory, aqua_kv.Runtime.open(
        device="emu:0", coordinator="none", host_bytes=16 * MIB, socket_directory=directory,
        callbacks_in_tick=True,
    ) as runtime:
        c = compile_c(directory, os.path.abspath(library))
        calls = measure(runtime, comparisons(runtime, c), options.batches)
    report = {
        "benchmark": "python", "device": "emulated", "python": sys.version.split()[0],
        "libaqua": aqua_kv.library_version(), "batches": options.batches, "calls": calls,
    }
    text = json.dumps(report, indent=1)
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
