# SPDX-License-Identifier: Apache-2.0
"""Whether two engines have answered alike. In bfloat16 the same engine answers otherwise when it works
on other batches, wherever its two best tokens are near each other."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

NEAR = 0.15  # between the logarithms of the two best tokens' probabilities


def compare(expected: List[Mapping[str, Any]], seen: List[Mapping[str, Any]]) -> Dict[str, Any]:
    """How many of the answers are the same to the end, part where the expected one had a near tie, or
    are others; and "begun", how many do not part at their first token otherwise than at a near tie. An
    answer: "ids", and "best", the two best logarithms of each."""
    told = {"of": len(expected), "alike": 0, "near_ties": 0, "others": abs(len(expected) - len(seen)), "begun": 0}
    for one, other in zip(expected, seen):
        pairs = zip(one["ids"], other["ids"])
        parts = next((i for i, (x, y) in enumerate(pairs) if x != y), None)
        tie = parts is not None and one["best"][parts][0] - one["best"][parts][1] < NEAR
        if parts is None and len(one["ids"]) == len(other["ids"]):
            told["alike"] += 1
        elif tie:
            told["near_ties"] += 1
        else:
            told["others"] += 1
        told["begun"] += parts != 0 or tie
    return told


def as_good(seen: Mapping[str, Any], noise: Mapping[str, Any]) -> bool:
    """Whether `seen` departs from an engine's answers no more than that engine itself does (`noise`),
    but for one answer, and begins each of them alike: wrong KV shows in the first token."""
    others = int(seen["others"]) <= int(noise["others"]) + 1
    begun = int(seen["begun"]) == int(seen["of"]) > 0
    return others and begun and int(seen["alike"]) + 1 >= int(noise["alike"])
