#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our plugins in a running vLLM on one GPU: five engines, and whether they answer alike.

Usage: in_vllm.py --keeper FILE [--json FILE] [--limit SECONDS] [--backend NAME] [--keep DIR]
  --keeper FILE    the program aqua-keeper
  --json FILE      writes what was found, with goals
  --limit SECONDS  of all engines together (600)
  --backend NAME   vLLM's attention backend (vLLM's own choice): TRITON_ATTN, FLASH_ATTN
  --keep DIR       keeps the engines' logs and answers there

An engine alone gives the answers to go by, to all prompts at once and one by one: in bfloat16 these
differ where two tokens are nearly as likely, and nothing below may differ more. Two engines share a
prompt by AquaConnector: all of its tokens must come as KV, another prompt's KV must lead to another
answer, and what never comes must be computed anew. Two engines share weights by --load-format aqua.
Five such engines ended after 40 s on an H100; three of them took 4.4 GiB of its memory. Exits 1 when a
goal is missed, 77 where vLLM, PyTorch or a GPU is missing. AQUA_LIBRARY names the libaqua.so; aqua_kv is
to be installed, so that vLLM finds its load format."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from answers import as_good, compare  # noqa: E402
from one_engine import BLOCKS, LENGTHS, LOST, PASSED_OFF  # noqa: E402

ROLES = ("reference", "consumer", "producer", "publish", "map")


def skip(why: str) -> None:
    print(f"in_vllm: skipped: {why}")
    raise SystemExit(77)


def check_what_is_here() -> Dict[str, str]:
    try:
        import torch
        import vllm
    except ImportError as error:
        skip(str(error))
    if not torch.cuda.is_available():
        skip("PyTorch sees no GPU here")
    return {"device": str(torch.cuda.get_device_name()), "torch": str(torch.__version__),
            "vllm": str(vllm.__version__)}


def run_engines(directory: Path, keeper: str, limit: float) -> Dict[str, Dict[str, Any]]:
    """What each engine has written; {"ok": False, ...} of one that has not."""
    socket = str(directory / "keeper.sock")
    environment = dict(os.environ, AQUA_KEEPER=socket)
    started: Dict[str, "subprocess.Popen[bytes]"] = {}
    with subprocess.Popen([keeper, "--socket", socket], stdout=subprocess.PIPE, text=True) as kept:
        try:
            assert kept.stdout is not None
            line = kept.stdout.readline()
            if not line.startswith("listening on"):
                raise SystemExit(f"in_vllm: {keeper} said {line!r}")
            for role in ROLES:
                with open(directory / f"{role}.log", "wb") as log:
                    started[role] = subprocess.Popen(
                        [sys.executable, str(HERE / "one_engine.py"), role, str(directory)],
                        env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                        start_new_session=True)  # its processes are a group, to be ended
            end = time.monotonic() + limit
            for role, process in started.items():
                status = process.wait(max(1.0, end - time.monotonic()))
                print(f"{role}: {'done' if status == 0 else f'exit status {status}'}", flush=True)
        except subprocess.TimeoutExpired:
            print(f"in_vllm: engines still ran after {limit:.0f} s", flush=True)
        finally:
            for process in started.values():
                try:
                    os.killpg(process.pid, 9)
                except ProcessLookupError:
                    pass
                process.wait()
            kept.kill()
    outcomes = {}
    for role in ROLES:
        path = directory / f"{role}.json"
        missing = {"ok": False, "error": f"ended without a word; the end of its log: {tail(directory, role)}"}
        outcomes[role] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else missing
    return outcomes


def keep(directory: Path, to: Path) -> None:
    for each in directory.iterdir():
        if each.suffix in (".log", ".json"):
            shutil.copy(each, to)


def tail(directory: Path, role: str) -> str:
    return (directory / f"{role}.log").read_text(encoding="utf-8", errors="replace")[-500:]


def judge(outcomes: Dict[str, Dict[str, Any]]) -> Dict[str, Any]:
    """Goals, and what they go by. An engine that has failed leaves its goals unmet."""
    goals: List[Dict[str, Any]] = []
    errors = {role: each["error"] for role, each in outcomes.items() if not each["ok"]}
    found: Dict[str, Any] = {"complete": not errors, "errors": errors}

    def goal(text: str, met: bool) -> None:
        goals.append({"goal": text, "met": met})

    goal("no engine fails", not errors)
    reference = outcomes["reference"]
    if not reference["ok"]:
        return {"goals": goals, **found}
    expected = reference["answers"]
    noise = found["noise"] = compare(expected, reference["one_by_one"])
    for role in ("consumer", "publish", "map"):
        found[role] = compare(expected, outcomes[role].get("answers", []))
        goal(f"{role} answers as an engine alone", as_good(found[role], noise))
    taker = outcomes["consumer"]
    wanted = sum(LENGTHS) + LENGTHS[PASSED_OFF]
    found["loaded_tokens"] = taker.get("loaded_tokens", 0)
    goal(f"all {wanted} tokens of prompts came as KV", found["loaded_tokens"] == wanted)
    passed_off = taker["ok"] and taker["passed_off"]["ids"] != expected[PASSED_OFF]["ids"]
    goal("another prompt's KV leads to another answer", bool(passed_off))
    lost = compare([expected[LOST]], taker.get("lost", []))
    goal("what never comes is computed anew", lost["others"] == 0)
    return {"goals": goals, **found}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keeper", metavar="FILE", required=True)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=600.0)
    parser.add_argument("--backend", metavar="NAME")
    parser.add_argument("--keep", metavar="DIR")
    options = parser.parse_args()
    if options.keep:
        Path(options.keep).mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # engines end with this program
    here = check_what_is_here()
    from small_llama import make

    with tempfile.TemporaryDirectory(prefix="in_vllm-") as directory:
        place = Path(directory)
        make(place / "model")
        backend = {"attention_config": {"backend": options.backend}} if options.backend else {}
        (place / "settings.json").write_text(json.dumps(backend), encoding="utf-8")
        date = datetime.datetime.now(datetime.timezone.utc)
        try:
            outcomes = run_engines(place, options.keeper, options.limit)
        finally:
            if options.keep:
                keep(place, Path(options.keep))
    report = {"benchmark": "in_vllm", **here, "blocks": BLOCKS, "prompts": len(LENGTHS),
              "backend": options.backend, "date": date.strftime("%Y-%m-%dT%H:%M:%SZ"), **judge(outcomes)}
    for each in report["goals"]:
        print(f"{'met   ' if each['met'] else 'MISSED'} {each['goal']}")
    for role, error in report.get("errors", {}).items():
        print(f"{role}: {error}")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each["met"] for each in report["goals"]) else 1


if __name__ == "__main__":
    sys.exit(main())
