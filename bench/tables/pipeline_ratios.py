# SPDX-License-Identifier: Apache-2.0
"""How many times as long a prompt takes as a token, beside DéjàVu's Figure 2 and Appendix A."""

import json
import subprocess
import tempfile

# Model and machine, all of whose GPUs share each layer; the paper's models and ours between them.
SERVED = (("opt-13b", "a100x2"), ("opt-30b", "v100x4"), ("opt-66b", "a100x2"), ("opt-66b", "a100x4"),
          ("bloom-176b", "a100x4"))
MICROBATCHES = (1, 2, 4, 8)  # the paper's
PROMPTS = (200, 500, 1000, 2000)
ANSWER = 1000  # the paper's: t is the mean over an answer
SHOWN = 1000  # the prompt of Figure 2, whose times are shown


def ratio_rows(simulator):
    """Y(b) and t(b) for each model, prompt and microbatch, as `aqua plan` has them."""
    rows = []
    for model, server in SERVED:
        by_size = {size: {"model": model, "server": server, "microbatch": size, "ratios": {}} for size in MICROBATCHES}
        for prompt in PROMPTS:
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
                trace.write("num_prefill_tokens,num_decode_tokens\n" + f"{prompt},{ANSWER}\n" * 2)
                trace.flush()
                command = [simulator.aqua, "plan", "--trace", trace.name, "--model", model, "--server", server,
                           "--machines", "16", "--context", "4096", "--microbatches",
                           ",".join(str(size) for size in MICROBATCHES), "--requests", "0", "--simulated", "2",
                           "--swap", "never", "--profiles", str(simulator.data / "profiles"), "--json"]
                planned = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for times in planned["microbatches"]:
                row = by_size[times["requests"]]
                row["ratios"][str(prompt)] = times["prompt_seconds"] / times["token_seconds"]
                if prompt == SHOWN:
                    row.update(prompt_s=times["prompt_seconds"], token_s=times["token_seconds"])
        rows += by_size.values()
    return rows


def ratio_table(rows):
    lines = ["| model, machine | microbatch | Y, ms | t, ms | " +
             " | ".join(f"Y/t: prompts of {prompt}" if prompt == PROMPTS[0] else str(prompt) for prompt in PROMPTS) +
             " |", "|" + "---|" * (4 + len(PROMPTS))]
    for row in rows:
        lines.append(f"| {row['model']}, {row['server']} | {row['microbatch']} | {row['prompt_s'] * 1e3:.0f} | "
                     f"{row['token_s'] * 1e3:.1f} | " +
                     " | ".join(f"{row['ratios'][str(prompt)]:.1f}" for prompt in PROMPTS) + " |")
    return "\n".join(lines) + "\n"


MAKE = {"ratios": (ratio_rows, ratio_table)}


def figures_of(tables):
    """The least and the largest ratio."""
    ratios = [ratio for row in tables.get("ratios", []) for ratio in row["ratios"].values()]
    return {"prompt over token": {"least": min(ratios), "most": max(ratios)}} if ratios else {}
