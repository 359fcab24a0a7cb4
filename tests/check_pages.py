#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every page to what it says: what a page, a source or a script names is there.

Usage: check_pages.py [ROOT]. Prints, and exits 1 if there is any:
- a relative link of a tracked *.md that leads nowhere, or to a heading that is not there;
- a `src/...` or `Suite.Test` that a page speaks of, or a `docs/...` that any other file names, and
  that is not there;
- a page of docs/ that docs/README.md does not link;
- a cell of a table that takes more than two lines to read.
Recorded results (bench/results/*.json) and the fuzzers' corpus tell of their own day and are left
alone.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w/.-])(?:\.\./|\$\{PROJECT_SOURCE_DIR\}/)*(docs/[\w./-]+\.(?:md|svg|png|json))\b(?:#([\w-]+))?")
SPOKEN_PATH = re.compile(r"`((?:src|include|kernels|coordinator|tools|examples|bench|tests|scripts|packaging|cmake)/[\w./*-]+)`")
SPOKEN_TEST = re.compile(r"`([A-Z]\w+)\.([A-Z]\w+)`")
DEFINED_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)
CELL_CHARACTERS = 160  # two lines
OF_THEIR_DAY = ("bench/results/", "tests/fuzz/corpus/")


def prose_of(text: str) -> str:
    """The page without its fenced blocks: brackets in code are no links."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block.group(0).count("\n"), text, flags=re.M | re.S)


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives a page's headings: lower case, no punctuation, dashes for spaces."""
    anchors: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *$", prose_of(text), flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = sum(1 for known in anchors if re.fullmatch(re.escape(anchor) + r"(-\d+)?", known))
        anchors.add(f"{anchor}-{again}" if again else anchor)
    return anchors


def fault_of(root: pathlib.Path, target: pathlib.Path, anchor: str) -> str:
    if not target.exists():
        return "leads nowhere"
    if not target.resolve().is_relative_to(root):
        return "leads out of the project"
    if anchor and target.suffix == ".md" and anchor not in anchors_of(target.read_text()):
        return f"has no heading for #{anchor}"
    return ""


def faults_of_page(root: pathlib.Path, page: pathlib.Path) -> list[str]:
    faults = []
    for number, line in enumerate(prose_of(page.read_text()).splitlines(), 1):
        for link in LINK.findall(line):
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            fault = fault_of(root, page.parent / path if path else page, anchor)
            if fault:
                faults.append(f"{page.relative_to(root)}:{number}: {link} {fault}")
    return faults


def faults_of_words(root: pathlib.Path, page: pathlib.Path, tests: set[tuple[str, str]]) -> list[str]:
    """Sources and tests that a page speaks of."""
    faults = []
    for number, line in enumerate(prose_of(page.read_text()).splitlines(), 1):
        faults += [f"{page.relative_to(root)}:{number}: {path} is not there" for path in SPOKEN_PATH.findall(line)
                   if not any(root.glob(path.rstrip("/"))) and not any(root.glob(path + ".*"))]  # or a program of it
        faults += [f"{page.relative_to(root)}:{number}: there is no test {suite}.{name}"
                   for suite, name in SPOKEN_TEST.findall(line) if (suite, name) not in tests]
    return faults


def faults_of_tables(root: pathlib.Path, page: pathlib.Path) -> list[str]:
    faults = []
    for number, line in enumerate(prose_of(page.read_text()).splitlines(), 1):
        cells = re.sub(r"\]\([^)]*\)", "]", line).split(" | ") if line.startswith("|") else []
        faults += [f"{page.relative_to(root)}:{number}: a cell of {len(cell)} characters: {cell[:40]} ..."
                   for cell in cells if len(cell) > CELL_CHARACTERS]
    return faults


def faults_of_mentions(root: pathlib.Path, file: pathlib.Path, text: str) -> list[str]:
    """Mentions of pages by their path from the root, in comments, messages and scripts."""
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        for path, anchor in NAMED.findall(line):
            fault = fault_of(root, root / path, anchor)
            if fault:
                faults.append(f"{file.relative_to(root)}:{number}: {path} {fault}")
    return faults


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, text=True,
                            capture_output=True).stdout
    files = [root / name for name in listed.splitlines() if (root / name).is_file()]
    pages = [file for file in files if file.suffix == ".md"]
    tests = {test for file in files if file.suffix == ".cpp" and file.is_relative_to(root / "tests")
             for test in DEFINED_TEST.findall(file.read_text())}
    faults = [fault for page in pages for fault in
              faults_of_page(root, page) + faults_of_words(root, page, tests) + faults_of_tables(root, page)]
    for file in files:
        if file.relative_to(root).as_posix().startswith(OF_THEIR_DAY) and file.suffix != ".md":
            continue
        try:
            faults += faults_of_mentions(root, file, file.read_text())
        except UnicodeDecodeError:
            continue
    index = root / "docs/README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    faults += [f"{page.relative_to(root)}: not linked from docs/README.md" for page in pages
               if page.is_relative_to(root / "docs") and page != index and page.resolve() not in linked]
    print("\n".join(faults) if faults else f"{len(pages)} pages: each link, source and test that they name is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
