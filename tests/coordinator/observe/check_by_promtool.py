#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has promtool read a running coordinator's exposition, and the alert rules.

Usage: check_by_promtool.py COORDINATOR ROOT. Ends with 77 where there is no promtool, saying what
was left out (Debian's package prometheus has it; scripts/setup check).
"""
import pathlib
import shutil
import subprocess
import sys

from check_metrics_doc import scrape


def main() -> int:
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if not shutil.which("promtool"):
        print("skipped: no promtool to read the exposition and the alert rules")
        return 77
    rules = str(root / "packaging/aqua-alerts.rules.yml")
    failed = False
    for command, given in ((["promtool", "check", "metrics"], scrape(program)),
                           (["promtool", "check", "rules", rules], None)):
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        print(" ".join(command) + ":", done.returncode, done.stdout + done.stderr)
        failed |= done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
