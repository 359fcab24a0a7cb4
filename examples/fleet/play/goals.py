# SPDX-License-Identifier: Apache-2.0
"""What the figures are held to."""


def goals_of(report):
    """Of what has run, as benchmarks tell them."""
    goals = []

    def at_least(limit, what, measured):
        goals.append({"goal": f"{what}, at least", "limit": limit, "measured": measured, "met": measured >= limit})

    def at_most(limit, what, measured):
        goals.append({"goal": f"{what}, at most", "limit": limit, "measured": measured, "met": measured <= limit})

    if load := report.get("load"):
        at_most(0, "answers that are not those of one engine alone", len(load["wrong"]))
        for kind in load["kinds_of_moves"]:
            at_least(100, f"moves by {kind}", load["moves"][f"{kind} done"])
        if ways := load.get("ways"):
            at_least(1, "moves by KV between servers", ways["done"].get("kv between servers", 0))
        if pauses := load["pauses"]:
            at_most(3, "iterations that 99 of 100 moves by KV under load keep their clients waiting",
                    pauses["at_most_iterations"])
    if measured := report.get("measured"):
        at_most(3, "iterations that a move by KV keeps its client waiting", measured["kv"]["pause_iterations_most"])
        at_least(50, "time of a move by tokens over one by KV", measured["tokens_over_kv"])
    if trace := report.get("trace"):
        for policy, of in trace["policies"].items():
            at_most(15, f"percent that the simulated engine-seconds of {policy} are off", abs(of["off_percent"]))
        at_most(0.9, "engine-seconds of pack over those of lb", trace["pack_over_lb"])
        at_most(0, "faults of answers under the trace", sum(len(of["live"]["faults"]) for of in trace["policies"].values()))
    return goals
