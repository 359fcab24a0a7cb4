# SPDX-License-Identifier: Apache-2.0
"""Clients ask, and while they do, engines are drained, killed and started anew, and answers are moved by order."""
import collections
import concurrent.futures
import random

from play.clients import Clients
from play.hosts import is_between
from play.pauses import Pauses
from play.process import await_true, show
from play.watch import Watch

QUESTIONS = 16


def run_load(setup):
    options = setup.options
    engines = {letter: setup.pool_engine(letter, "--coordinator", setup.address)
               for letter in "abcdefgh"[:options.engines]}
    questions = setup.kind.questions(QUESTIONS)
    with concurrent.futures.ThreadPoolExecutor(QUESTIONS) as asking:
        right = list(zip(questions, asking.map(lambda body: setup.kind.ask_alone(engines["a"].url, body), questions)))
    show(len(right), "questions answered by one engine alone")
    router = setup.router(engines.values())
    show(f"a router before {len(engines)} engines, --policy {options.policy}; {options.clients} clients ask")
    clients, watch = Clients(options.clients, right, lambda: setup.kind.asker(router.url)), Watch(router)
    try:
        pauses = disturb(setup, router, engines, watch)
    finally:
        clients.end()
        watch.end()
    await_true("every engine is empty", lambda: all(engine.left() == 0 for engine in engines.values()))
    ways = ways_of(watch.ended.values(), setup.hosts.carried()) if setup.hosts else None
    return {"answers": clients.equal, "wrong": clients.wrong, "moves": router.moves(), "failures": router.failures(),
            "ways": ways, "kinds_of_moves": setup.kind.moves, "pauses": pauses, "recoveries": int(router.metric("aqua_router_recoveries_total")),
            "seen": {"engines": list(engines), "samples": watch.samples, "marks": watch.marks, "moved": watch.moved}}


def ways_of(moves, carried):
    """Moves that were done, by kind and by whether they were within a server, and what couriers have carried for them."""
    done = collections.Counter(f"{move['kind']} {'between' if is_between(move) else 'within'} servers"
                               for move in moves if move["end"] == "done")
    return {"done": dict(sorted(done.items())), "carried": carried}


def disturb(setup, router, engines, watch):
    """What pauses the moves by KV made that were ordered; None where there are none."""
    pauses = None
    await_true("the clients are there", lambda: len(router.requests()) >= setup.options.clients)
    watch.mark("engine a is drained")
    router.order("engines/a/drain")
    await_true("engine a is empty", lambda: router.engines()["a"]["requests"] == 0)
    router.order("engines/a/drain", method="DELETE")
    draw = random.Random(1)
    for kind in setup.kind.moves:
        watch.mark(f"answers are moved by order, by {kind}")
        enough = router.moves()[f"{kind} done"] + setup.options.moves
        watched = Pauses(router, engines) if kind == "kv" else None

        def moved(kind=kind, enough=enough):
            for request in router.requests()[:16]:
                others = [letter for letter in engines if letter != request["engine"]]
                router.move(request["name"], draw.choice(others), kind == "tokens")
            return router.moves()[f"{kind} done"] >= enough

        await_true(f"{setup.options.moves} have moved", moved, 600)
        pauses = watched.end() if watched else pauses
    victim = max(router.engines().values(), key=lambda engine: engine["requests"])["name"]
    watch.mark(f"engine {victim} is killed")
    engines[victim].stop()
    await_true("the router knows", lambda: router.state(victim) == "down")
    engines[victim] = setup.pool_engine(victim, "--coordinator", setup.address, port=engines[victim].port())
    await_true("another is up in its place", lambda: router.state(victim) == "up")
    watch.mark(f"engine {victim} is up again")
    return pauses
