# SPDX-License-Identifier: Apache-2.0
"""From where on KV is restored sooner than computed again: DéjàVu's failure of Figure 14, over batch and context."""

import tempfile

MICROBATCHES = (1, 4, 16)
PROMPTS = (500, 1000, 2000, 8000, 32000)
ANSWER = 1000
ASSUMED_S = 20  # detection, restart and weights, the same for both


def recovery_rows(simulator):
    """Seconds that a failure costs beyond those that are assumed; None where memory does not hold the requests."""
    rows = []
    for microbatch in MICROBATCHES:
        for prompt in PROMPTS:
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
                trace.write("num_prefill_tokens,num_decode_tokens\n" + f"{prompt},{ANSWER}\n" * 2)
                trace.flush()

                def makespan(*words):
                    return simulator.run("--trace", trace.name, "--fixed-prompt", str(prompt), "--context", "65536",
                                         "--model", "opt-66b", "--server", "a100x2", "--machines", "4",
                                         "--all-machines", "--policies", "colocated", "--microbatches",
                                         str(microbatch), "--requests", str(4 * microbatch), "--stops", "none",
                                         *words)["colocated"].get("makespan_s")

                none = makespan()
                row = {"microbatch": microbatch, "prompt": prompt, "none": none}
                for way in ("reprefill", "restore"):
                    row[way] = none and makespan("--outages", f"{0.7 * none}:0:1", "--recovery", way) - none - ASSUMED_S
                rows.append(row)
    return rows


def recovery_table(rows):
    lines = ["| microbatch | prompt | s without a failure | computed again: s more | restored: s more | times |",
             "|" + "---|" * 6]
    for row in rows:
        if row["none"] is None:
            lines.append(f"| {row['microbatch']} | {row['prompt']} |  |  |  |  |")
            continue
        lines.append(f"| {row['microbatch']} | {row['prompt']} | {row['none']:.0f} | {row['reprefill']:.1f} | "
                     f"{row['restore']:.1f} | {row['reprefill'] / row['restore']:.2f} |")
    return "\n".join(lines) + "\n"


MAKE = {"recoveries": (recovery_rows, recovery_table)}
