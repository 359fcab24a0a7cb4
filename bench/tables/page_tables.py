# SPDX-License-Identifier: Apache-2.0
"""What programs share that write tables into a page, between two comments, and their rows as JSON."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple


def parser_of(about: Optional[str], keys: Iterable[str] = (), seeds: Optional[int] = None) -> argparse.ArgumentParser:
    """The command line of a program that makes tables; `keys` of these, where it can make some of them;
    `seeds` by default, if it takes any."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqua", required=True, help="the aqua command")
    if seeds is not None:
        parser.add_argument("--seeds", type=int, default=seeds)
    if keys:
        parser.add_argument("--only", action="append", choices=list(keys), help="only these tables")
    parser.add_argument("--page", help="write the tables into this page")
    parser.add_argument("--json", help="write rows and goals")
    return parser


def data_folder(program: str) -> Path:
    """What AQUA_DATA names; ends the program where it names nothing."""
    if not os.environ.get("AQUA_DATA"):
        sys.exit(f"{program}: AQUA_DATA names no folder with traces/ and profiles/")
    return Path(os.environ["AQUA_DATA"])


def made(make: Mapping[str, Callable[[Any], Any]], simulator: Any, only: Optional[Sequence[str]]) -> Dict[str, Any]:
    """The rows of the tables that are asked for."""
    return {key: each(simulator) for key, each in make.items() if key in (only or make)}


def judged(arguments: argparse.Namespace, tables: Mapping[str, Any], count: Callable[[Mapping[str, Any]], Dict[str, Any]],
           called_met: Iterable[str]) -> Tuple[Dict[str, Any], List[str]]:
    """The rows with what is counted over all of them, its "met" the goals; and which of those that are called met
    are missed. Of some tables alone nothing is counted."""
    if arguments.only:
        return dict(tables), []
    counted = count(tables)
    print(json.dumps(rounded(counted if len(counted) > 1 else counted["met"]), indent=1))
    seeds = {"seeds": arguments.seeds} if "seeds" in arguments else {}
    return {**seeds, **counted, **tables}, [goal for goal in called_met if not counted["met"][goal]]


def finish(program: str, arguments: argparse.Namespace, result: Mapping[str, Any], tables: Mapping[str, str],
           missed: List[str]) -> int:
    """Writes what is asked for; the tables only if what the page says of them is so. The exit status."""
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rounded(result), indent=1))
    if arguments.page and not missed:
        write_tables(arguments.page, program, tables)
    if missed:
        print("missed, though the page calls it met: " + ", ".join(missed), file=sys.stderr)
    return 1 if missed else 0


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
