# SPDX-License-Identifier: Apache-2.0
"""Figures and goals of a run, in the form of bench/report/report_file.cpp: a goal a line."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Dict, List, Optional, Sequence

GOALS = (
    ("lent slab", "recompute"), ("lent slab", "pinned copies a block"), ("host tier", "recompute"),
    ("host tier", "pinned copies a block"),
)


def quantile(samples: Sequence[float], q: float) -> float:
    """Between the two nearest samples, linearly."""
    ordered = sorted(samples)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def copies_since(before: Any, after: Any) -> Dict[str, int]:
    """What came to RuntimeStatus.copies in between: what really ran, and what was passed over."""
    was = asdict(before)
    return {name: count - was[name] for name, count in asdict(after).items()}


def row(way: str, bursts: Sequence[Sequence[float]], wrong: Optional[int], other_logits: int,
        ran: Dict[str, int]) -> Dict[str, Any]:
    """p50 and p99 over the requests of all bursts. `wrong`: those whose bytes were not restored as they
    were; None where they are computed anew, and need not be."""
    seconds = [s for burst in bursts for s in burst]
    return {"way": way, "ttft_p50_s": quantile(seconds, 0.5), "ttft_p99_s": quantile(seconds, 0.99),
            "requests": len(seconds), "wrong_bytes": wrong, "other_logits": other_logits, "ran": ran,
            "seconds": list(map(list, bursts))}


def goals(rows: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    by_way = {each["way"]: each for each in rows}
    judged = []
    for ours, other in GOALS:
        for figure, text in (("ttft_p50_s", "p50"), ("ttft_p99_s", "p99")):
            measured = None
            if ours in by_way and other in by_way:
                measured = by_way[ours][figure] / by_way[other][figure]
            judged.append({"goal": f"{text} TTFT by {ours}, over that by {other}", "limit": 1.0,
                           "measured": measured, "met": measured is not None and measured <= 1})
    return judged


def text(report: Dict[str, Any]) -> str:
    lines = ",\n  ".join(json.dumps(goal) for goal in report["goals"])
    parts = [f'"{key}": ' + (f"[\n  {lines}\n ]" if key == "goals" else json.dumps(value))
             for key, value in report.items()]
    return "{\n " + ",\n ".join(parts) + "\n}\n"
