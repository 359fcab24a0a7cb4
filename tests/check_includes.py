#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include, folder and file size against the rules of the house.

Usage: check_includes.py [ROOT]. Prints what breaks a rule; exits 1 if anything does.

- Rooms of the core (src/*), of tools/ and inside coordinator/ include what their row of the table
  in architecture.md allows, and include/aqua.
- The core includes no system, and a system (src/systems/*) no other system.
- A system's `decide` is pure: of src/ it sees base alone, of include/aqua nothing that runs, and no
  thread, clock or file. Its `act` stands on include/aqua, base and its own decide.
- The simulator and the coordinator see of a system its `decide` only. Examples see of the library
  include/ only; command lines and progress they share with the tools.
- No folder holds more than 30 files, no source more than 350 lines.
"""
import collections
import pathlib
import re
import subprocess
import sys

MOST_FILES, MOST_LINES = 30, 350
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
CODE = re.compile(r"\.(cpp|hpp|cu|cuh|h|c|py)$")
# What a decision may not use: it is handed the time, and told what others know.
IMPURE = ("thread", "mutex", "condition_variable", "future", "atomic", "fstream", "iostream", "filesystem",
          "cstdio", "unistd.h")
IMPURE_PUBLIC = ("aqua/runtime.hpp", "aqua/tensor.hpp", "aqua/ticket.hpp", "aqua/elastic_pool.hpp", "aqua/emulated.hpp")
CLOCK = re.compile(r"\b(system|steady|high_resolution)_clock::now\b")
MAY_SEE_DECIDE = ("tools/sim", "coordinator")


def tracked(root: pathlib.Path) -> list[str]:
    """The files of the work tree that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (root / name).is_file()]


def allowed(architecture: str) -> dict[str, set[str]]:
    """Rows like | `src/tensor` | what it is | base, device |; a target is a room of src/, or of the
    same folder as the room itself (`coordinator/http` | … | access, common)."""
    arrows = {}
    for line in architecture.splitlines():
        row = re.match(r"^\| `([\w/]+)` \|.*\|\s*([^|]*?)\s*\|$", line)
        if row:
            arrows[row.group(1)] = {word.strip(" `") for word in row.group(2).split(",") if word.strip(" `")}
    return arrows


def room_of(path: str) -> str:
    """include/aqua, kernels, src/device, src/systems/prefix/act, tools/sim, coordinator/http …"""
    parts = path.split("/")
    if parts[0] == "include":
        return "include/aqua"
    if parts[:2] == ["src", "systems"]:
        return "/".join(parts[:4])
    depth = 2 if parts[0] in ("src", "tools", "coordinator") and len(parts) > 2 else 1
    return "/".join(parts[:depth])


def room_of_include(name: str) -> str:
    first = name.split("/")[0]
    if first == "aqua":
        return "include/aqua"
    return room_of(name if first in ("tools", "coordinator", "kernels", "tests", "bench", "examples") else "src/" + name)


def is_wing(room: str) -> bool:
    return room.startswith("src/systems/")


def may_include(room: str, target: str, arrows: dict[str, set[str]]) -> bool:
    if target in (room, "include/aqua"):
        return True
    if room.startswith("examples"):
        return target in ("tools/options", "tools/report")
    if room == "include/aqua":
        return False
    if is_wing(room):
        own_decide = room.rpartition("/")[0] + "/decide"
        return target == "src/base" or (room.endswith("/act") and target == own_decide)
    if is_wing(target):
        return target.endswith("/decide") and any(room.startswith(seer) for seer in MAY_SEE_DECIDE)
    beside = "/".join(room.split("/")[:-1]) + "/" if "/" in room else room + "/"
    rows = arrows.get(room, set()) | (arrows.get("coordinator", set()) if room.startswith("coordinator/") else set())
    if room in ("coordinator", "tools") and target.startswith(room + "/"):
        return True  # what stands in no room ties the rooms together
    return any(target in (word, "src/" + word, beside + word) for word in rows)


def faults_of(path: str, text: str, arrows: dict[str, set[str]], rooms: set[str]) -> list[str]:
    room = room_of(path)
    faults = []
    if room.startswith(("src/", "tools/", "coordinator/")) and not is_wing(room) and room not in arrows:
        faults.append(f"{path}: no row for {room} in architecture.md")
    pure = is_wing(room) and room.endswith("/decide")
    for number, line in enumerate(text.splitlines(), 1):
        if pure and CLOCK.search(line):
            faults.append(f"{path}:{number}: a decision reads no clock")
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(1)
        if "<" in line.split("include")[1]:
            if pure and name in IMPURE:
                faults.append(f"{path}:{number}: a decision does not use <{name}>")
            continue
        if pure and name in IMPURE_PUBLIC:
            faults.append(f"{path}:{number}: a decision does not use {name}")
        target = room_of_include(name)
        if target in rooms and not may_include(room, target, arrows):
            faults.append(f"{path}:{number}: {room} may not include {name}")
    return faults


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = tracked(root)
    page = next(name for name in files if name.endswith("architecture.md"))
    arrows = allowed((root / page).read_text())
    code = [name for name in files if CODE.search(name)]
    housed = [name for name in code if re.match(r"(src|include|kernels|coordinator|tools|examples)/.*\.(cpp|hpp|cu|cuh|h|c)$", name)]
    rooms = {room_of(name) for name in housed}
    faults = []
    for name in housed:
        faults += faults_of(name, (root / name).read_text(), arrows, rooms)
    for name in code:
        lines = (root / name).read_text().count("\n")
        if lines > MOST_LINES:
            faults.append(f"{name}: {lines} lines, over {MOST_LINES}: look for the second concept inside")
    for folder, count in collections.Counter(name.rpartition("/")[0] for name in files if "/corpus/" not in name).items():
        if count > MOST_FILES:
            faults.append(f"{folder}: {count} files, over {MOST_FILES}")
    faults += [f"{page}: {room} is no folder" for room in arrows
               if room.startswith(("src/", "tools/", "coordinator/")) and not (root / room).is_dir()]
    print("\n".join(faults) if faults else
          f"{len(housed)} sources in {len(rooms)} rooms: every include runs the right way, no folder and no source too large")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
