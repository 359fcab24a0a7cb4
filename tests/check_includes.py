#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include against the table in docs/internals/architecture.md: includes run one way.

Usage: check_includes.py [ROOT]. Prints each include that the table does not allow, and each
room that is missing in the table or in the tree; exits 1 if there is any.
"""
import pathlib
import re
import sys

ROOMS = ("base", "policy", "ledger", "profile", "sim", "profiler", "place", "wire", "device", "lending", "transfer", "tensor", "southbound", "runtime",
         "cache", "capi")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def allowed_arrows(architecture: str) -> dict[str, set[str]]:
    """Reads rows like: | `src/tensor` | what it is | base, device |, and of rooms inside the
    coordinator: | `coordinator/http` | what it is | access, common |"""
    arrows = {}
    for line in architecture.splitlines():
        row = re.match(r"^\| `(?:src/)?([\w/]+)`(?:, `(\w+)`)? \|.*\|\s*([^|]*?)\s*\|$", line)
        if not row:
            continue
        targets = {word.strip(" `") for word in row.group(3).split(",") if word.strip()}
        if row.group(1).startswith("coordinator/"):
            targets = {f"coordinator/{target}" for target in targets}
        for room in filter(None, row.groups()[:2]):
            arrows[room] = targets
    return arrows


def room_of_include(path: str) -> str:
    first = path.split("/")[0]
    return "include/aqua" if first == "aqua" else first


def inside_the_coordinator(root: pathlib.Path, arrows: dict[str, set[str]]) -> list[str]:
    """The rooms of the daemon among themselves; what stands in none of them may include all."""
    faults = []
    for path in (root / "coordinator").glob("*/*.[ch]pp"):
        room = "/".join(path.relative_to(root).parts[:2])
        if room not in arrows:
            faults.append(f"{path}: room '{room}' is not in docs/internals/architecture.md")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or not match.group(1).startswith("coordinator/"):
                continue
            target = match.group(1).rpartition("/")[0]
            if target not in {room} | arrows[room]:
                faults.append(f"{path}:{number}: {room} may not include {match.group(1)}")
    return faults


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    arrows = allowed_arrows((root / "docs/internals/architecture.md").read_text())
    faults = []
    files = [(p, p.relative_to(root / "src").parts[0]) for p in (root / "src").rglob("*.[ch]pp")]
    files += [(p, room) for room in ("coordinator", "tools", "examples", "kernels") for p in (root / room).rglob("*.[ch]pp")]
    files += [(p, "kernels") for p in (root / "kernels").rglob("*.cu*")]
    files += [(p, "include/aqua") for p in (root / "include").rglob("*.h*")]
    for path, room in files:
        if room != "include/aqua" and room not in arrows:
            faults.append(f"{path}: room '{room}' is not in docs/internals/architecture.md")
            continue
        may = {"include/aqua", room} | arrows.get(room, set())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = room_of_include(match.group(1))
            known = target in ROOMS or target in ("include/aqua", "coordinator", "kernels")
            if known and target not in may:
                faults.append(f"{path}:{number}: {room} may not include {match.group(1)}")
    faults += inside_the_coordinator(root, arrows)
    for room in ROOMS:
        if room not in arrows and any((root / "src" / room).glob("*.hpp")):
            faults.append(f"docs/internals/architecture.md: no row for src/{room}")
    print("\n".join(faults) if faults else f"{len(files)} files: every include runs the right way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
