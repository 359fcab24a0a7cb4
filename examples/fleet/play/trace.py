# SPDX-License-Identifier: Apache-2.0
"""A trace is played to four engines by two policies, and to `aqua simulate`'s four: how many engines are in use?

Prompts are cut to an eighth, since two cores compute for all four engines, which keep their 25 ms an iteration; their KV
memory is such that the first minutes of Azure's conversations fill two of them, and leave room for a third."""
import csv
import datetime
import json
import random
import subprocess
import threading
import time

from play.clients import ask_whole
from play.process import Failure, await_true, show
from play.kinds import PACE_MS
from play.watch import EnginesInUse

POLICIES = ("pack", "lb")
ENGINES = "abcd"
PROMPT_OVER = 8
BLOCKS, BLOCK_TOKENS, BUDGET = 384, 16, 256
EPOCH_MS, WATERMARK = 1000, 0.05
WARM_UP = 0.1  # of the time in which requests come; the simulator counts from there, too

# Reading its weights takes an engine 25 ms of each iteration, and all else next to nothing. KV is that of the toy model.
MODEL = {"name": "integers", "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 16, "hidden": 65536, "ffn": 65536,
         "gated_ffn": True, "vocab": 256, "measured": {}, "scaled": {}}
WEIGHT_BYTES = 2 * MODEL["layers"] * 3 * MODEL["hidden"] * MODEL["ffn"]
SERVER = {"name": "emulated GPUs",
          "gpu": {"name": "emulated", "memory_gb": 80, "memory_gb_s": WEIGHT_BYTES / (PACE_MS / 1000) / 1e9,
                  "tflops": 1e6, "memory_efficiency": 1, "compute_efficiency": 1},
          "nvlink": {"latency_us": 64, "gb_s": 250, "source": "assumed: moves by KV copy nothing"},
          "pcie": {"latency_us": 10, "gb_s": 25, "source": "assumed"}}


def read_trace(path, seconds):
    """(second, prompt tokens, answer tokens) of what comes in the first so many seconds."""
    rows, first = [], None
    with open(path, newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                at = datetime.datetime.fromisoformat(row["TIMESTAMP"][:26])
                prompt, answer = int(row["ContextTokens"]), int(row["GeneratedTokens"])
            except (KeyError, TypeError, ValueError) as fault:
                raise Failure(f"{path}: line {number} has no TIMESTAMP, ContextTokens and GeneratedTokens: {fault!r}") \
                    from fault
            first = first or at
            second = (at - first).total_seconds()
            if second > seconds:
                break
            rows.append((second, max(1, round(prompt / PROMPT_OVER)), answer))
    if len(rows) < 2:
        raise Failure(f"{path}: no requests in the first {seconds} s")
    return rows


def write_trace(path, rows):
    begin = datetime.datetime(2023, 11, 16)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("TIMESTAMP", "ContextTokens", "GeneratedTokens"))
        for second, prompt, answer in rows:
            at = begin + datetime.timedelta(seconds=second)
            writer.writerow((at.isoformat(" ", timespec="microseconds") + "0", prompt, answer))


def in_use(samples, rows):
    """The mean of [when, engines in use], each of which holds until the next, while requests come."""
    until = rows[-1][0]
    since = WARM_UP * until
    held = 0.0
    for (at, count), (after, _) in zip(samples, samples[1:] + [[until, 0]]):
        held += count * max(0.0, min(after, until) - max(at, since))
    return held / (until - since)


def play(setup, policy, rows, number):
    engines = [setup.pool_engine(letter, "--pool", f"trace-{policy}-{number}", "--pool-blocks", len(ENGINES) * BLOCKS, "--blocks",
                                 BLOCKS, "--block-tokens", BLOCK_TOKENS, "--budget", BUDGET) for letter in ENGINES]
    router = setup.router(engines, policy, "--epoch", EPOCH_MS, "--watermark", WATERMARK)
    show(f"{len(rows)} requests of the trace come in {rows[-1][0]:.0f} s, --policy {policy}")
    draw, faults, asking = random.Random(1), [], []
    bodies = [{"prompt": [draw.randrange(50_000) for _ in range(prompt)], "max_tokens": answer, "seed": number,
               "return_token_ids": True} for number, (_, prompt, answer) in enumerate(rows)]

    def ask(body):
        try:
            if (said := len(ask_whole(router.url, body))) != body["max_tokens"]:
                faults.append(f"{said} tokens of {body['max_tokens']}")
        except Exception as error:  # whatever is wrong with an answer
            faults.append(f"{error!r}")

    watch = EnginesInUse(router)
    try:
        begin = time.monotonic()
        for (second, _, _), body in zip(rows, bodies):
            if (wait := begin + second - time.monotonic()) > 0:
                time.sleep(wait)  # until the trace's next request
            asking.append(threading.Thread(target=ask, args=(body,)))
            asking[-1].start()
        for thread in asking:
            thread.join()
    finally:
        watch.end()
    await_true("every engine is empty", lambda: all(engine.left() == 0 for engine in engines))
    moves, failures = router.moves(), router.failures()
    for child in [router, *engines]:
        child.stop()
    return {"in_use_mean": in_use(watch.samples, rows), "moves": moves, "failures": failures, "faults": faults,
            "in_use": watch.samples}


def predict(setup, rows):
    """{policy: what the simulator says of the same requests}."""
    files = {name: setup.at / name for name in ("trace.csv", "model.json", "server.json", "placements")}
    write_trace(files["trace.csv"], rows)
    files["model.json"].write_text(json.dumps(MODEL))
    files["server.json"].write_text(json.dumps(SERVER))
    said = subprocess.run(
        [setup.build / "tools/aqua", "simulate", "--trace", files["trace.csv"], "--pack", ",".join(POLICIES),
         "--fixed-fleet", "--engines", str(len(ENGINES)), "--model", files["model.json"], "--server",
         files["server.json"], "--profiles", "off", "--kv-tokens", str(BLOCKS * BLOCK_TOKENS), "--chunk", str(BUDGET),
         "--epoch", str(EPOCH_MS / 1000), "--watermark", str(WATERMARK),
         "--placements", files["placements"], "--no-progress", "--json"], check=True, stdout=subprocess.PIPE)
    result = {}
    for row in json.loads(said.stdout)["packers"]:
        used = {epoch: set() for epoch in range(1, int(rows[-1][0]) + 1)}
        with open(f"{files['placements']}.{row['packer']}", newline="") as file:
            for place in csv.DictReader(file):
                used.setdefault(int(place["epoch"]), set()).add(place["gpu"])
        result[row["packer"]] = {"in_use_mean": row["engines_used_mean"], "moves": int(row["moves_kv"] + row["moves_tokens"]),
                                 "in_use": [[epoch, len(gpus)] for epoch, gpus in sorted(used.items())]}
    return result


def middle_of(rounds):
    """The one whose mean is the median, with the means and the faults of all."""
    by_mean = sorted(rounds, key=lambda live: live["in_use_mean"])
    return by_mean[len(by_mean) // 2] | {"in_use_means": [live["in_use_mean"] for live in rounds],
                                         "faults": [fault for live in rounds for fault in live["faults"]]}


def run_trace(setup, rows):
    predicted = predict(setup, rows)
    result = {"requests": len(rows), "seconds": rows[-1][0], "engines": len(ENGINES),
              "kv_tokens": BLOCKS * BLOCK_TOKENS, "policies": {}}
    rounds = [{policy: play(setup, policy, rows, number) for policy in POLICIES}
              for number in range(setup.options.trace_rounds)]
    for policy in POLICIES:
        live = middle_of([by_policy[policy] for by_policy in rounds])
        of = predicted[policy]
        result["policies"][policy] = {"live": live, "simulated": of,
                                      "off_percent": 100 * (of["in_use_mean"] / live["in_use_mean"] - 1)}
    by = {policy: result["policies"][policy]["live"]["in_use_mean"] for policy in POLICIES}
    result["pack_over_lb"] = by["pack"] / by["lb"]
    return result
