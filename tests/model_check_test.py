#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/model-check takes of SPIN's searches, by a spin and a gcc that make one which reports what it is told."""
import os
import pathlib
import subprocess
import tempfile
import unittest

MODEL_CHECK = pathlib.Path(__file__).resolve().parent.parent / "scripts/model-check"
GCC = """#!/bin/sh
printf '#!/bin/sh\\ncat "$REPORT"\\n' >pan
chmod +x pan
"""
NO_ERROR = """State-vector 64 byte, depth reached 12, errors: 0
       42 states, stored
"""
OUT_OF_MEMORY = """pan: reached -DMEMLIM bound
Warning: Search not completed
"""


class Search(unittest.TestCase):
    def said_of(self, report: str) -> str:
        """What it says of a model of which every search reports this."""
        with tempfile.TemporaryDirectory() as folder:
            programs = {"spin": "#!/bin/sh\n", "gcc": GCC}
            for name, text in programs.items():
                program = pathlib.Path(folder, name)
                program.write_text(text, encoding="utf-8")
                program.chmod(0o755)
            told = pathlib.Path(folder, "told")
            told.write_text(report, encoding="utf-8")
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "REPORT": str(told)}
            ran = subprocess.run([MODEL_CHECK, "migration"], env=environment, check=False, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, "no bug was found")
        return ran.stdout

    def test_that_finds_no_error_shows_that_the_model_holds(self) -> None:
        said = self.said_of(NO_ERROR)
        self.assertIn("holds in all 42 states", said)
        self.assertNotIn("not complete", said)

    def test_that_ran_out_of_memory_shows_nothing(self) -> None:
        said = self.said_of(OUT_OF_MEMORY + NO_ERROR)
        self.assertIn("the search was not complete", said)
        self.assertNotIn("holds", said)


if __name__ == "__main__":
    unittest.main()
