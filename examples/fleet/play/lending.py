# SPDX-License-Identifier: Apache-2.0
"""An engine lends its KV memory while nobody asks it, and the next request wakes it by a reclaim."""
import functools
import statistics
import time

from play.clients import Clients, ask, first_token_seconds, question
from play.members import Neighbour
from play.process import Failure, await_true, show

LEND_AFTER_MS = 200
LENDING_MODEL = ("--layers", 8, "--kv-heads", 8)
BLOCKS_OF_A_MIB = 32  # of that model's KV
ROUNDS = 7


def lending_engine(setup, letter):
    """With memory of its own."""
    return setup.engine(letter, "--coordinator", setup.address, "--lend-after", LEND_AFTER_MS, "--blocks",
                        setup.options.lend_mib * BLOCKS_OF_A_MIB, *LENDING_MODEL)


def run_lending(setup):
    lent_mib, kept_mib = setup.options.lend_mib, max(1, setup.options.lend_mib // 2)
    body, short = question(2, 60, 40), question(3, 60, 2)
    first = lending_engine(setup, "p")
    right = ask(first.url, body)
    neighbour = setup.keep(Neighbour(setup.build, setup.address, kept_mib))
    show(f"an engine lends {lent_mib} MiB of KV while nobody asks it; a neighbour keeps {kept_mib} there")
    times = {"warm": [], "wake": [], "wake_reclaim": [], "cold": [], "cold_pool": []}
    for _ in range(ROUNDS):
        await_true("the neighbour's bytes are in lent memory", neighbour.borrows_all)
        before = first.metric("fleet_wake_seconds_total")
        times["wake"].append(first_token_seconds(first.url, short))
        times["wake_reclaim"].append(first.metric("fleet_wake_seconds_total") - before)
        times["warm"].append(first_token_seconds(first.url, short))
    show(f"it was woken {ROUNDS} times; as many others are started")
    for name, begin in (("cold", lambda: lending_engine(setup, "z")),
                        ("cold_pool", lambda: setup.pool_engine("z", *LENDING_MODEL, "--pool", "z"))):
        for _ in range(ROUNDS):
            since = time.monotonic()
            started = begin()
            times[name].append(first_token_seconds(started.url, short, since))
            started.stop()
    result = {"lent_mib": lent_mib, "borrowed_mib": kept_mib, "rounds": ROUNDS}
    for name, seconds in times.items():
        result |= {f"{name}_seconds": statistics.median(seconds), f"{name}_seconds_most": max(seconds)}
    result["cold_over_wake"] = result["cold_seconds"] / result["wake_seconds"]
    result |= drained_in_turns(setup, {"p": first, "q": lending_engine(setup, "q")}, body, right)
    seen = neighbour.look()
    return result | {"wrong_bytes": seen["wrong_bytes"], "lost_tensors": seen["lost"]}


def drained_in_turns(setup, engines, body, right):
    """Who is empty lends, who gets the answers is woken."""
    router = setup.router(engines.values())
    clients = Clients(4, [(body, right)], lambda: functools.partial(ask, router.url))
    try:
        await_true("the clients are there", lambda: len(router.requests()) >= 4)
        for drained, other in (("p", "q"), ("q", "p"), ("p", "q")):
            wakes = engines[other].metric("fleet_wakes_total")
            slept = engines[other].sleeps()
            router.order(f"engines/{drained}/drain")
            await_true(f"engine {drained} lends", engines[drained].sleeps)
            if slept and engines[other].metric("fleet_wakes_total") <= wakes:
                raise Failure(f"engine {other} lent, and nothing woke it")
            show(f"engine {drained} is drained and lends; engine {other} has the answers"
                 f"{', woken by a reclaim' if slept else ''}")
            await_true("it may be used again", lambda at=drained: router.order(f"engines/{at}/drain", method="DELETE"))
    finally:
        clients.end()
    return {"answers": clients.equal, "wrong": clients.wrong,
            "wakes": int(sum(engine.metric("fleet_wakes_total") for engine in engines.values()))}
