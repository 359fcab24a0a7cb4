#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a fenced block of a page to a file, so that it can be compiled or run.

Usage: extract_snippet.py PAGE LANGUAGE OUTPUT [NAME]   the block opened by "```LANGUAGE NAME";
                                                        without NAME, the first of LANGUAGE
       extract_snippet.py --covers PAGE NAME...         fails unless every block has one of these
                                                        names, and every name a block
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str, str]]:
    return BLOCK.findall(pathlib.Path(page).read_text())


def extract(page: str, language: str, output: str, name: str = "") -> None:
    for found_language, found_name, text in blocks(page):
        if found_language == language and name in ("", found_name):
            pathlib.Path(output).write_text(text)
            return
    sys.exit(f"{page}: no block of {language} {name}")


def covers(page: str, *names: str) -> None:
    there = [name for _, name, _ in blocks(page)]
    untested = sorted(set(there) - set(names)) + [""] * ("" in there)
    missing = sorted(set(names) - set(there))
    if untested or missing or len(there) != len(set(there)):
        sys.exit(f"{page}: blocks that no test names: {untested}; named, but missing: {missing}")
    print(f"{len(there)} blocks, all tested")


if sys.argv[1] == "--covers":
    covers(*sys.argv[2:])
else:
    extract(*sys.argv[1:])
