#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a fenced block of a page to a file, so that it can be compiled or run.

Usage: extract_snippet.py PAGE LANGUAGE OUTPUT [NAME]   the block opened by "```LANGUAGE NAME";
                                                        without NAME, the first of LANGUAGE
       extract_snippet.py --covers PAGE NAME...         fails unless every block has one of these
                                                        names, and every name a block

A folder is a page too: its blocks are the examples of its headers, the paragraphs of the comment
at the top that are indented and have a semicolon. LANGUAGE is cpp and NAME the header's path in
the folder. They name a GPU; what is written names an emulated one.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.M | re.S)


def example(header: pathlib.Path) -> str:
    top = re.match(r"(/\* SPDX.*\n/\*(?:.|\n)*?\*/|(//.*\n)*)", header.read_text()).group()
    lines = [re.sub(r"^(//|/\*| \*/?) ?", "", line) for line in top.splitlines()]
    paragraphs = "\n".join(line.rstrip() for line in lines).split("\n\n")
    code = [p for p in paragraphs if ";" in p and all(l.startswith("  ") for l in p.splitlines())]
    return "".join(p + "\n" for p in code).replace('"cuda:', '"emu:')


def blocks(page: str) -> list[tuple[str, str, str]]:
    path = pathlib.Path(page)
    if not path.is_dir():
        return BLOCK.findall(path.read_text())
    names = sorted(str(header.relative_to(path)) for header in path.rglob("*.h*"))
    return [("cpp", name, code) for name in names if (code := example(path / name))]


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
