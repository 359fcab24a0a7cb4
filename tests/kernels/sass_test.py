#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the copy kernels compile to on sm_90: loads in flight, registers, spills.

Usage: sass_test.py LIBRARY. AQUA_CUOBJDUMP names cuobjdump (scripts/fetch-cuobjdump); without it the
PATH is searched. Exits 77, with the reason, where there is none or no code for sm_90 in the library.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

ARCH = "sm_90"
# A load of a piece's words of 16 or 8 bytes: past L1, unlike the entries of lists.
LOAD = re.compile(r"\bLDG\.E\.NA\.(128|64)\b")
STORE = re.compile(r"\bSTG\b")


def dump(option: str) -> str:
    return subprocess.run([CUOBJDUMP, option, "-arch", ARCH, LIBRARY], check=True, capture_output=True, text=True).stdout


def functions(text: str, begin: str) -> dict[str, str]:
    """What is printed of each copy kernel, by its mangled name."""
    parts = re.split(begin, text)[1:]
    named = {part.split()[0].rstrip(":"): part for part in parts}
    return {name: part for name, part in named.items() if "_kernel" in name}


def in_flight(sass: str) -> dict[str, int]:
    """By width, the most loads of data that come one after the other without a store between them."""
    most, run = {}, {}
    for line in sass.splitlines():
        load = LOAD.search(line)
        if load:
            width = load.group(1)
            run[width] = run.get(width, 0) + 1
            most[width] = max(most.get(width, 0), run[width])
        elif STORE.search(line):
            run = {}
    return most


class CopyKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        usage = functions(dump("--dump-resource-usage"), r"\n Function ")
        sass = functions(dump("-sass"), r"\n\s*Function : ")
        cls.vector = {n: (usage[n], sass[n]) for n in usage if "vector_kernel" in n}
        cls.bulk = {n: (usage[n], sass[n]) for n in usage if "bulk_kernel" in n}
        cls.upload = {n: (usage[n], sass[n]) for n in usage if "upload_kernel" in n}

    def usage(self, text, what):
        return int(re.search(rf"\b{what}:(\d+)", text).group(1))

    def test_each_is_there_for_lists_and_for_blocks(self):
        for kernels, variants in ((self.vector, 2), (self.bulk, 1)):
            for plan in ("CopyPlan", "BlockPlan"):
                self.assertEqual(sum(plan in name for name in kernels), variants, (plan, list(kernels)))

    def test_nothing_is_spilled(self):
        for name, (usage, _) in (self.vector | self.bulk | self.upload).items():
            self.assertEqual((self.usage(usage, "STACK"), self.usage(usage, "LOCAL")), (0, 0), name)

    def test_eight_loads_of_a_lane_are_in_flight_before_a_store_waits(self):
        for name, (_, sass) in self.vector.items():
            self.assertEqual(in_flight(sass), {"128": 8, "64": 8}, name)

    def test_a_cta_of_512_threads_leaves_the_engine_registers(self):
        for name, (usage, _) in self.vector.items():  # 11/16 of an SM's 65,536, handed out by eights
            self.assertLessEqual(self.usage(usage, "REG"), 80 if "CopyPlan" in name else 88, name)

    def test_uploads_read_four_words_ahead_and_past_every_cache(self):
        self.assertEqual(len(self.upload), 1)
        for name, (_, sass) in self.upload.items():
            moves = re.findall(r"\b(?:LDG|STG)\.\S+", sass)
            loads, stores = ["LDG.E.128.STRONG.SYS"] * 4, ["STG.E.128"] * 4
            self.assertIn(" ".join(loads + stores), " ".join(moves), name)

    def test_bulk_copies_are_the_hardwares(self):
        for name, (usage, sass) in self.bulk.items():
            self.assertRegex(sass, r"\bUBLKCP\.S\.G\b", name)
            self.assertRegex(sass, r"\bUBLKCP\.G\.S\b", name)
            self.assertLessEqual(self.usage(usage, "REG"), 64, name)


def skip(why: str):
    print(f"skipped: {why}")
    sys.exit(77)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop()
    CUOBJDUMP = os.environ.get("AQUA_CUOBJDUMP") or shutil.which("cuobjdump")
    if not CUOBJDUMP:
        skip("no cuobjdump; see scripts/fetch-cuobjdump")
    if "vector_kernel" not in dump("--dump-resource-usage"):
        skip(f"{LIBRARY} has no code for {ARCH}")
    unittest.main()
