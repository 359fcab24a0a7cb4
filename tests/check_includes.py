#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include, folder and file size against the rules of the house.

Usage: check_includes.py [ROOT]. Prints what breaks a rule; exits 1 if anything does.

- Rooms of the core (src/*), of tools/ and inside coordinator/ include what their row of the table
  in architecture.md allows, and include/aqua.
- The core includes no system, and a system no other system. A system is src/systems/S and its public
  headers include/aqua/S.
- A system's `decide` is pure, and so are the core's PURE_ROOMS: no thread, clock or file. Of base a
  `decide` sees what PURE_BASE names, of include/aqua nothing that leads to a runtime. A system's
  `act` stands on include/aqua, base and its own decide. Its `capi`, the C ABI of its public headers,
  stands on include/aqua, base and src/capi, and nothing stands on it.
- The simulator and the daemons see of a system its `decide` and the public headers of that only.
  Examples see of the library include/ only; command lines and progress they share with the tools.
- No header of the library, the coordinator or the tools brings a library that takes seconds to
  compile, but for those that are about JSON itself. No program is in src/.
- No folder holds more than 30 files, no source more than 350 lines.
"""
import collections
import pathlib
import re
import subprocess
import sys

MOST_FILES, MOST_LINES = 30, 350
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
CODE = re.compile(r"\.(cpp|hpp|cu|cuh|h|c|py)$")
# What a decision may not use: it is handed the time, and told what others know.
IMPURE = re.compile(r"(thread|mutex|shared_mutex|condition_variable|future|atomic|semaphore|latch|barrier|stop_token|"
                    r"fstream|iostream|filesystem|cstdio|stdio\.h|ctime|time\.h|fcntl\.h|unistd\.h|pthread\.h|sys/.*)$")
IMPURE_PUBLIC = {"include/aqua/" + name for name in
                 ("runtime.hpp", "tensor.hpp", "ticket.hpp", "elastic_pool.hpp", "host_memory.hpp", "plane_memory.hpp", "published_memory.hpp", "shared_memory.hpp",
                  "side_stream.hpp", "stream_mark.hpp", "groups.hpp", "emulated.hpp")}
PURE_BASE = ("base/concat.hpp", "base/fnv1a.hpp", "base/try.hpp", "base/ids.hpp", "base/json_object.hpp", "base/shallow_json.hpp",
             "base/keeper/limits.hpp", "base/keeper/packets.hpp", "base/shares.hpp", "base/text/hex.hpp", "base/text/plain_name.hpp")
# Rooms of the core that decide, as a system's `decide` does.
PURE_ROOMS = {"src/groups", "src/layout", "src/parcel"}
HEAVY = re.compile(r"(spdlog/.*|httplib\.h|nlohmann/json\.hpp)$")
ABOUT_JSON = {"src/base/json_object.hpp", "src/base/shallow_json.hpp", "src/northbound/profile_fields.hpp",
              "src/wire/json/json.hpp"}
PROGRAM = re.compile(r"^int main\(")
CLOCK = re.compile(r"\b(system|steady|high_resolution)_clock::now\b|\brandom_device\b")


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


class House:
    """The tracked sources, by path, and who includes whom."""

    def __init__(self, texts: dict[str, str], arrows: dict[str, set[str]]):
        self.texts, self.arrows = texts, arrows
        self.systems = {path.split("/")[2] for path in texts if path.startswith("src/systems/")}
        self.rooms = {self.room_of(path) for path in texts}

    def room_of(self, path: str) -> str:
        """include/aqua, include/aqua/prefix, src/device, src/systems/prefix/act, tools/sim …"""
        parts = path.split("/")
        if parts[0] == "include":
            return "/".join(parts[:3]) if parts[2] in self.systems else "include/aqua"
        if parts[:2] == ["src", "systems"]:
            return "/".join(parts[:4])
        depth = 2 if parts[0] in ("src", "tools", "coordinator") and len(parts) > 2 else 1
        return "/".join(parts[:depth])

    @staticmethod
    def path_of(include: str) -> str:
        first = include.split("/")[0]
        if first == "aqua":
            return "include/" + include
        return include if first in ("tools", "coordinator", "kernels", "tests", "bench", "examples") else "src/" + include

    def runs(self, header: str, seen: frozenset = frozenset()) -> bool:
        """Whether a public header leads to a runtime, by itself or by what it includes."""
        if header in IMPURE_PUBLIC:
            return True
        included = {self.path_of(name) for name in INCLUDE.findall(self.texts.get(header, ""))}
        return any(self.runs(path, seen | {header}) for path in included - seen if path.startswith("include/"))

    def system_of(self, room: str) -> str | None:
        parts = room.split("/")
        return parts[2] if len(parts) > 2 and parts[2] in self.systems and parts[0] in ("src", "include") else None

    def may_include(self, room: str, name: str) -> bool:
        path = self.path_of(name)
        target = self.room_of(path)
        if target in ("tests", "bench"):
            return False
        own, other = self.system_of(room), self.system_of(target)
        if target == room:
            return True
        if room.startswith("examples"):
            return (target.startswith("include/aqua") or target in ("tools/options", "tools/report")
                    or any(other.startswith("examples/") and other.endswith("/" + name) for other in self.texts))
        if own:
            if other:
                return other == own and (target.startswith("include/") and not (room.endswith("/decide") and self.runs(path))
                                         or target.endswith("/decide") and room.endswith("/act"))
            if room.endswith("/decide"):
                return name in PURE_BASE or target == "include/aqua" and not self.runs(path)
            if target == "src/capi":
                return room.endswith("/capi")
            return target == "include/aqua" or target == "src/base" and not room.startswith("include/")
        if other:  # from outside every system
            if room in ("tools/sim", "tools/keeper", "tools/courier", "tools/router") or room.split("/")[0] == "coordinator":
                return target.endswith("/decide") or target.startswith("include/") and not self.runs(path)
            return target.startswith("include/") and room.split("/")[0] == "tools"
        if room in PURE_ROOMS and target in ("include/aqua", "src/base"):
            return name in PURE_BASE or target == "include/aqua" and not self.runs(path)
        if target == "include/aqua":
            return True
        if room == "include/aqua":
            return False
        if room in ("coordinator", "tools") and target.startswith(room + "/"):
            return True  # what stands in no room ties the rooms together
        beside = "/".join(room.split("/")[:-1]) + "/" if "/" in room else room + "/"
        rows = self.arrows.get(room, set()) | (self.arrows.get("coordinator", set()) if room.startswith("coordinator/") else set())
        return any(target in (word, "src/" + word, beside + word) for word in rows)

    def faults_of(self, path: str) -> list[str]:
        room = self.room_of(path)
        pure = room in PURE_ROOMS or room.startswith("src/systems/") and room.endswith("/decide")
        faults = []
        if room.startswith(("src/", "tools/", "coordinator/")) and not self.system_of(room) and room not in self.arrows:
            faults.append(f"{path}: no row for {room} in architecture.md")
        for number, line in enumerate(self.texts[path].splitlines(), 1):
            if pure and CLOCK.search(line):
                faults.append(f"{path}:{number}: a decision reads no clock and draws no chance")
            if room.startswith("src/") and PROGRAM.match(line):
                faults.append(f"{path}:{number}: src/ is the library, and has no programs")
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            if pure and IMPURE.match(name):
                faults.append(f"{path}:{number}: a decision does not use <{name}>")
            light = re.match(r"(src|include|coordinator|tools)/.*\.hpp$", path) and path not in ABOUT_JSON
            if light and HEAVY.match(name):
                faults.append(f"{path}:{number}: <{name}> belongs into sources")
            known = name.startswith("aqua/") or '"' in line
            # Nothing else is in quotes in an example: a bare name that is no file of theirs comes by an include path.
            ours = self.room_of(self.path_of(name)) in self.rooms | {"tests", "bench"} or room == "examples"
            if known and ours and not self.may_include(room, name):
                faults.append(f"{path}:{number}: {room} may not include {name}")
        return faults


def faults_of_size(lines_of: dict[str, int], files: list[str]) -> list[str]:
    """Of sources by their lines, and of the folders that the files stand in."""
    faults = [f"{name}: {lines} lines, over {MOST_LINES}: look for the second concept inside"
              for name, lines in lines_of.items() if lines > MOST_LINES]
    counted = collections.Counter(name.rpartition("/")[0] for name in files if "/corpus/" not in name)
    return faults + [f"{folder}: {count} files, over {MOST_FILES}"
                     for folder, count in counted.items() if count > MOST_FILES]


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = tracked(root)
    page = next(name for name in files if name.endswith("architecture.md"))
    arrows = allowed((root / page).read_text())
    code = [name for name in files if CODE.search(name)]
    housed = [name for name in code if re.match(r"(src|include|kernels|coordinator|tools|examples)/.*\.(cpp|hpp|cu|cuh|h|c)$", name)]
    house = House({name: (root / name).read_text() for name in housed}, arrows)
    faults = [fault for name in housed for fault in house.faults_of(name)]
    faults += faults_of_size({name: (root / name).read_text().count("\n") for name in code}, files)
    faults += [f"{page}: {room} is no folder" for room in arrows
               if room.startswith(("src/", "tools/", "coordinator/")) and not (root / room).is_dir()]
    print("\n".join(faults) if faults else
          f"{len(housed)} sources in {len(house.rooms)} rooms: every include runs the right way, no folder and no source too large")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
