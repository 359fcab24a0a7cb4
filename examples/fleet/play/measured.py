# SPDX-License-Identifier: Apache-2.0
"""One long answer moves back and forth, by KV and by tokens: how long its client waits, and how long a move takes."""
import statistics
import time

from play.clients import ask
from play.process import Failure, show


def run_measured(setup):
    engines = {letter: setup.pool_engine(letter, *setup.kind.larger_model, "--pool", "measured") for letter in "xy"}
    router = setup.router(engines.values())
    tokens = setup.options.prompt_tokens
    show(f"an answer to {tokens} tokens moves between two engines")
    asked = setup.kind.long_question(engines["x"], tokens)
    longer = asked["max_tokens"]
    right = ask(engines["x"].url, asked)
    result = {"prompt_tokens": tokens, "equal": True}
    for kind, answer, every, moves in (("kv", 120, 10, 10), ("tokens", longer, longer // 2, 2)):
        said, result[kind] = moved_often(router, asked | {"max_tokens": answer, "min_tokens": answer}, kind, every, moves)
        result["equal"] = result["equal"] and said == right[:answer]
    result["iteration_ms"] = result["kv"]["token_gap_seconds"] * 1000
    result["tokens_over_kv"] = result["tokens"]["seconds"] / result["kv"]["seconds"]
    return result


def moved_often(router, body, kind, every, most):
    """An answer that is moved after each `every` tokens; what it said, and the figures of it."""
    times, due = [], []

    def token(ids):
        times.append(time.monotonic())
        if len(ids) % every == 5 and len(due) < most and (here := router.requests()):
            to = "y" if here[0]["engine"] == "x" else "x"
            if router.move(here[0]["name"], to, kind == "tokens"):
                due.append(len(ids))

    said = ask(router.url, body, token)
    gaps = [after - before for before, after in zip(times, times[1:])][1:]
    count = int(router.metric("aqua_router_move_seconds_count", kind=kind))
    if count == 0:
        raise Failure(f"no move by {kind} was done")
    pauses, iteration = sorted(gaps)[-count:], statistics.median(gaps)
    return said, {
        "moves": count,
        "seconds": router.metric("aqua_router_move_seconds_sum", kind=kind) / count,
        "token_gap_seconds": iteration,
        "pause_iterations_median": statistics.median(pauses) / iteration,
        "pause_iterations_most": pauses[-1] / iteration,
        "gaps_ms": [round(gap * 1000, 2) for gap in gaps]}
