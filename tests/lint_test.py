#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/lint remembers: in a repository made for it, of which nothing is compiled, by a clang-tidy that finds
nothing and keeps a list of what it was given."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parent.parent / "scripts/lint"
TIDY = """#!/bin/sh
[ "$1" = --version ] && exit 0
for source; do :; done
echo "$source" >>"$SEEN"
grep -q killed "$source" && kill -KILL $$
! grep wrong "$source"
"""
FILES = {
    "src/a/a.cpp": '#include "a/a.hpp"\n#include <vector>\n',
    "src/a/a.hpp": '#  include "near.hpp"\n',  # beside it
    "src/a/near.hpp": "#if 0\n#include <ours/far.hpp>\n#endif\n",
    "include/ours/far.hpp": '#include "a/a.hpp"\n',  # and back again
    "src/b.cpp": '#include "absent.hpp"\n',
    ".clang-tidy": "",
}


class Memory(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "repository"
        for name, text in FILES.items():
            self.write(name, text)
        (self.root / "scripts").mkdir()
        shutil.copy(LINT, self.root / "scripts/lint")
        flags = f"c++ -I{self.root}/include -isystem {self.root}/src -o a.o -c"
        self.write("build/dev/compile_commands.json", json.dumps(
            [{"directory": f"{self.root}/build/dev", "command": f"{flags} {self.root}/{name}",
              "file": f"{self.root}/{name}"} for name in ("src/a/a.cpp", "src/b.cpp")]))
        for command in (["init", "-q"], ["add", "src"]):
            subprocess.run(["git", *command], cwd=self.root, check=True)
        self.seen = self.root.parent / "seen"
        programs = self.root.parent / "bin"
        programs.mkdir()
        (programs / "clang-tidy").write_text(TIDY, encoding="utf-8")
        (programs / "clang-tidy").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "SEEN": str(self.seen),
                            "XDG_CACHE_HOME": str(self.root.parent / "cache")}

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def lint(self, status: int = 0) -> set[str]:
        """Which sources clang-tidy was given."""
        self.seen.write_text("", encoding="utf-8")
        ran = subprocess.run([self.root / "scripts/lint"], env=self.environment, check=False, capture_output=True,
                             text=True)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return set(self.seen.read_text(encoding="utf-8").split())

    def test_is_of_what_passed_though_nothing_was_compiled(self) -> None:
        self.assertEqual(self.lint(), {"src/a/a.cpp", "src/b.cpp"})
        self.assertEqual(self.lint(), set())

    def test_ends_when_a_header_changes_that_is_included_through_others(self) -> None:
        for name in ("src/a/a.hpp", "src/a/near.hpp", "include/ours/far.hpp"):
            self.lint()
            self.write(name, FILES[name] + "int changed;\n")
            self.assertEqual(self.lint(), {"src/a/a.cpp"}, name)

    def test_ends_when_a_header_appears_that_was_absent(self) -> None:
        self.lint()
        self.write("src/absent.hpp", "")
        self.assertEqual(self.lint(), {"src/b.cpp"})

    def test_is_not_of_what_has_findings(self) -> None:
        self.write("src/b.cpp", "wrong")
        self.lint(status=1)
        self.assertEqual(self.lint(status=1), {"src/b.cpp"})

    def test_is_not_of_what_ended_clang_tidy_without_a_word(self) -> None:
        self.write("src/b.cpp", "killed")
        self.lint(status=1)
        self.assertEqual(self.lint(status=1), {"src/b.cpp"})


if __name__ == "__main__":
    unittest.main()
