#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# By the system's Python, which has numpy (Debian: python3-numpy).
"""KV of a sequence from one process to another on this machine, by aqua_kv's Streamer and by NIXL.

Usage: beside_nixl.py --library libaqua.so --keeper PROGRAM --nixl DIRECTORY [--rounds N] [--json FILE]

The same bytes in the same run, one library after the other in each round: 32 MiB in blocks of
16 KiB, scattered on both sides. Told are the time to set both processes up, the bytes a second from
the moment at which the producer has its KV until the last byte is in the consumer's blocks, compared
with what they are to be, and what the consumer sees if the producer is killed: once it has said that
its KV is ready, in the middle, and from a successor by the same name.

There is no GPU in this: aqua_kv's device is emulated, NIXL's memory is DRAM. aqua_kv copies twice,
into the keeper's memory and out of it, so that KV outlives the producer; NIXL copies once.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

import peer

HERE = Path(__file__).resolve().parent
SILENCE_S = 120


class Process:
    """A peer, and what it says."""

    def __init__(self, command: List[str], environment: Dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})

    def order(self, do: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        print(json.dumps({"do": do, **arguments}), file=self.process.stdin, flush=True)

    def hear(self) -> Dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], SILENCE_S)[0]:
            self.kill()
            return {"failed": f"it said nothing for {SILENCE_S} s"}
        line = self.process.stdout.readline()
        if not line:
            return {"failed": f"it ended with status {self.process.wait()}"}
        heard: Dict[str, Any] = json.loads(line)
        return heard

    def told(self, do: str, **arguments: Any) -> Dict[str, Any]:
        self.order(do, **arguments)
        return self.hear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Aqua:
    name = "aqua"

    def __init__(self, arguments: argparse.Namespace, directory: Path) -> None:
        self.directory, self.number = directory, 0
        self.socket = str(directory / "keeper.sock")
        package = str(HERE.parent.parent / "python")
        self.environment = {"AQUA_LIBRARY": arguments.library, "PYTHONPATH": package}
        self.keeper = subprocess.Popen([arguments.keeper, "--socket", self.socket], stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout is not None and "listening" in self.keeper.stdout.readline()

    def start(self, role: str) -> Process:
        self.number += 1
        own = self.directory / str(self.number)
        own.mkdir()
        return Process([sys.executable, "-B", str(HERE / "aqua_peer.py"), role, self.socket, str(own)], self.environment)

    def connect(self, producer: Process, consumer: Optional[Process]) -> float:
        """Seconds that it took. No consumer: it is there already."""
        return sum(each.hear()["ready"] for each in (producer, consumer) if each)

    def reconnect(self, producer: Process, consumer: Process) -> float:
        return self.connect(producer, None)

    def send_half(self, producer: Process, consumer: Process, sequence: int) -> Optional[Dict[str, Any]]:
        """What the consumer said of it already, if anything."""
        producer.told("send", sequence=sequence, layers=peer.LAYERS // 2)
        consumer.order("receive", sequence=sequence)
        return None

    def close(self) -> None:
        self.keeper.terminate()
        self.keeper.wait()


class Nixl:
    name = "nixl"

    def __init__(self, arguments: argparse.Namespace, directory: Path) -> None:
        self.environment = {"PYTHONPATH": arguments.nixl, "NIXL_LOG_LEVEL": "FATAL"}

    def start(self, role: str) -> Process:
        return Process([sys.executable, "-B", str(HERE / "nixl_peer.py"), role], self.environment)

    def connect(self, producer: Process, consumer: Process) -> float:
        described = [each.hear() for each in (producer, consumer)]
        for each, other in zip((producer, consumer), reversed(described)):
            each.order("connect", **other)
        self.described = described
        return sum(each.hear()["ready"] for each in (producer, consumer))

    def reconnect(self, producer: Process, consumer: Process) -> float:
        described = producer.hear()
        consumer.told("forget")
        consumer.order("connect", **described)
        producer.order("connect", **self.described[1])
        seconds: float = producer.hear()["ready"]
        consumer.hear()
        return seconds

    def send_half(self, producer: Process, consumer: Process, sequence: int) -> Optional[Dict[str, Any]]:
        producer.told("send", sequence=sequence)
        consumer.order("receive", sequence=sequence, posted=True)
        heard = consumer.hear()
        return None if "posted" in heard else heard


def transfer(producer: Process, consumer: Process, sequence: int) -> float:
    """Seconds."""
    producer.told("fill", sequence=sequence)
    consumer.order("receive", sequence=sequence)
    sent, landed = producer.told("send", sequence=sequence), consumer.hear()
    if not landed.get("equal"):
        sys.exit(f"sequence {sequence} did not come: {sent}, {landed}")
    seconds: float = landed["landed"] - sent["sent"]
    return seconds


def outcome(heard: Dict[str, Any]) -> Dict[str, Any]:
    if "landed" in heard:
        return {"outcome": "all bytes came" if heard["equal"] else "WRONG BYTES"}
    return {"outcome": heard["failed"], "seconds": heard.get("seconds")}


def kills(side: Any) -> Dict[str, Any]:
    """What a consumer sees of a producer that is killed, and of its successor."""
    told: Dict[str, Any] = {}
    for when in ("said that it is ready", "in the middle"):
        producer, consumer = side.start("producer"), side.start("consumer")
        side.connect(producer, consumer)
        transfer(producer, consumer, 1)
        producer.told("fill", sequence=2)
        heard = None
        if when == "in the middle":
            heard = side.send_half(producer, consumer, 2)
            producer.kill()
        else:
            producer.told("send", sequence=2)
            producer.kill()
            consumer.order("receive", sequence=2)
        told[when] = outcome(heard or consumer.hear())
        begun = peer.now()
        successor = side.start("producer")
        side.reconnect(successor, consumer)
        successor.told("fill", sequence=3)
        consumer.order("receive", sequence=3)
        successor.told("send", sequence=3)
        told[when]["successor"] = {**outcome(consumer.hear()), "after_seconds": peer.now() - begun}
        successor.kill()
        consumer.kill()
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libaqua.so")
    parser.add_argument("--keeper", required=True, help="aqua-keeper")
    parser.add_argument("--nixl", required=True, help="where scripts/nixl has put NIXL")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", help="write the result")
    arguments = parser.parse_args()
    result: Dict[str, Any] = {"sequence_bytes": peer.SEQUENCE_BYTES, "block_bytes": peer.BLOCK_BYTES}
    with tempfile.TemporaryDirectory() as directory:
        aqua = Aqua(arguments, Path(directory))
        atexit.register(aqua.close)
        sides = [aqua, Nixl(arguments, Path(directory))]
        pairs = []
        for side in sides:
            pair = side.start("producer"), side.start("consumer")
            result[side.name] = {"setup_seconds": side.connect(*pair)}
            result[side.name]["first_seconds"] = transfer(*pair, 0)
            pairs.append(pair)
        rounds: List[List[float]] = [[], []]
        for sequence in range(1, arguments.rounds + 1):
            for pair, seconds in zip(pairs, rounds):
                seconds.append(transfer(*pair, sequence))
        for pair in pairs:  # NIXL's poll for as long as they live: nobody dies beside them
            for each in pair:
                each.kill()
        for side, seconds in zip(sides, rounds):
            result[side.name].update(seconds=seconds, bytes_per_second=peer.SEQUENCE_BYTES / statistics.median(seconds),
                                     killed=kills(side))
    for name in ("aqua", "nixl"):
        row = result[name]
        print(f"{name}: set up in {row['setup_seconds']:.3f} s, first sequence {row['first_seconds'] * 1e3:.1f} ms,"
              f" then {row['bytes_per_second'] / 1e6:.0f} MB/s")
        for when, seen in row["killed"].items():
            print(f"  killed, {when}: {seen['outcome']}; its successor: {seen['successor']['outcome']}"
                  f" after {seen['successor']['after_seconds']:.1f} s")
    result["ratio"] = result["aqua"]["bytes_per_second"] / result["nixl"]["bytes_per_second"]
    print(f"bytes a second, aqua over nixl: {result['ratio']:.2f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
