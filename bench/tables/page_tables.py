# SPDX-License-Identifier: Apache-2.0
"""What programs share that write tables into a page, between two comments, and their rows as JSON."""

import sys
from pathlib import Path
from typing import Any, Mapping, Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def write_tables(page: str, program: str, tables: Mapping[str, str]) -> None:
    """Each by its key, between `<!-- PROGRAM: KEY -->` and `<!-- /PROGRAM -->`; all of them or none."""
    text = Path(page).read_text()
    for key, table in tables.items():
        begin, end = f"<!-- {program}: {key} -->\n", f"<!-- /{program} -->\n"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            sys.exit(f"{program}: the page has no {begin.strip()} with its end")
        text = before + begin + "\n" + table + "\n" + end + after
    Path(page).write_text(text)


def rounded(value: Any) -> Any:
    """Six digits: the file is read by people too."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
