# SPDX-License-Identifier: Apache-2.0
"""What has been seen, in words."""


def words_of(report):
    """(the text, whether all was right)"""
    lines, good = [], True
    for part, tell in (("load", tell_load), ("measured", tell_measured), ("lending", tell_lending), ("trace", tell_trace)):
        if of := report.get(part):
            good = tell(of, lines.append) and good
            lines.append("")
    for goal in report["goals"]:
        lines.append(f"{goal['goal']} {goal['limit']}: {goal['measured']:.3g}{'' if goal['met'] else ', MISSED'}")
    return "\n".join(lines), good


def tell_load(load, say):
    say(f"{load['answers']} answers equal those of one engine alone, {len(load['wrong'])} do not.")
    say("Moves: " + ", ".join(f"{count} by {kind}" for kind, count in load["moves"].items()) +
        f"; {load['recoveries']} answers went on after a death.")
    if ways := load.get("ways"):
        tell_ways(ways, say)
    tell_failures(load["failures"], say)
    if pauses := load["pauses"]:
        say(f"Of {pauses['moves']} moves by KV 99 of 100 kept their clients waiting for {pauses['at_most_seconds'] * 1000:g} ms "
            f"at most, {pauses['at_most_iterations']:.2f} iterations of {pauses['iteration_ms']:.1f} ms.")
    for fault in sorted(set(load["wrong"])):
        say(f"FAILED: {fault}")
    return not load["wrong"]


def tell_ways(ways, say):
    say("Of those that were done: " + ", ".join(f"{count} by {way}" for way, count in ways["done"].items()) + ".")
    carried = ways["carried"]
    say(f"Couriers carried {carried['parcels']} parcels of {carried['bytes'] / 1e6:.1f} MB in all" +
        ("." if carried["link_bytes"] is None else
         f"; {carried['link_bytes'] / 1e6:.1f} MB crossed the link between the servers."))


def tell_failures(failures, say):
    if failures:
        say("Why moves failed: " + ", ".join(f"{count} by {why}" for why, count in failures.items()) + ".")


def tell_measured(measured, say):
    say(f"An answer to {measured['prompt_tokens']} tokens, iterations of {measured['iteration_ms']:.0f} ms:")
    say(f"{'':8} {'moves':>6} {'a move':>10} {'pause, median':>15} {'at most':>9}")
    for kind in ("kv", "tokens"):
        of = measured[kind]
        say(f"{kind:8} {of['moves']:6} {of['seconds'] * 1000:7.1f} ms {of['pause_iterations_median']:10.2f} iter."
            f" {of['pause_iterations_most']:9.2f}")
    say(f"By tokens a move takes {measured['tokens_over_kv']:.0f} times as long as by KV.")
    if not measured["equal"]:
        say("FAILED: the moved answer is another one")
    return measured["equal"]


def tell_lending(lending, say):
    say(f"Until the first token, of {lending['rounds']} times each (median, most):")
    for name, what in (("warm", "an engine that is awake"),
                       ("wake", f"woken by a reclaim of {lending['lent_mib']} MiB"),
                       ("wake_reclaim", "  of this, until it can begin"),
                       ("cold", "started anew, with memory of its own"),
                       ("cold_pool", "started anew, over a pool of the keeper's")):
        median, most = lending[name + "_seconds"] * 1000, lending[name + "_seconds_most"] * 1000
        say(f"{what:44} {median:8.1f} ms {most:8.1f}")
    say(f"{lending['answers']} answers are equal, {len(lending['wrong'])} are not; {lending['wakes']} waited for "
        f"lent memory; {lending['wrong_bytes']} bytes of the neighbour's are wrong.")
    return not lending["wrong"] and lending["wrong_bytes"] == 0 and lending["lost_tensors"] == 0


def tell_trace(trace, say):
    say(f"{trace['requests']} requests of the trace in {trace['seconds']:.0f} s to {trace['engines']} engines of "
        f"{trace['kv_tokens']} KV tokens; engines in use, mean:")
    say(f"{'':8} {'live':>6} {'simulated':>10} {'off':>8} {'moves':>6} {'simulated':>10}")
    faults = set()
    for policy, of in trace["policies"].items():
        live, simulated = of["live"], of["simulated"]
        done = sum(count for kind, count in live["moves"].items() if kind.endswith("done"))
        say(f"{policy:8} {live['in_use_mean']:6.2f} {simulated['in_use_mean']:10.2f} {of['off_percent']:6.1f} % {done:6} "
            f"{simulated['moves']:10}")
        if len(means := live["in_use_means"]) > 1:
            say(f"{'':8} {min(means):.2f} to {max(means):.2f} in {len(means)} rounds, of which this is the median")
        tell_failures(live["failures"], say)
        faults |= set(live["faults"])
    say(f"pack uses {trace['pack_over_lb']:.2f} of the engine-seconds that lb uses.")
    for fault in sorted(faults):  # each kind once
        say(f"FAILED: {fault}")
    return not faults
