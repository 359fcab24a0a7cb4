#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How examples/fleet/run reads a trace, counts engines in use, and draws its page."""
import math
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/fleet"))
from play.load import ways_of  # noqa: E402
from play.pauses import Pauses  # noqa: E402
from play.picture import Chart, page, svg  # noqa: E402
from play.process import Failure  # noqa: E402
from play.report import words_of  # noqa: E402
from play.trace import in_use, middle_of, read_trace, write_trace  # noqa: E402
from play.watch import EnginesInUse  # noqa: E402

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


class Trace(unittest.TestCase):
    def read(self, text, seconds=100):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "trace.csv"
            path.write_text(HEAD + text)
            return read_trace(path, seconds)

    def test_is_read_until_its_time_is_over_and_prompts_are_cut(self):
        rows = self.read("2023-11-16 18:15:46.5000000,800,44\n2023-11-16 18:15:48.0000000,3,7\n"
                         "2023-11-16 18:20:00.0000000,8,1\n")
        self.assertEqual(rows, [(0.0, 100, 44), (1.5, 1, 7)])

    def test_of_one_request_is_refused(self):
        with self.assertRaises(Failure):
            self.read("2023-11-16 18:15:46.5000000,800,44\n")

    def test_that_is_none_is_refused_by_its_line(self):
        for bad in ("soon,800,44\n", "2023-11-16 18:15:47.0000000,many,44\n", "2023-11-16 18:15:47.0000000,800\n"):
            with self.assertRaisesRegex(Failure, "line 3 "):
                self.read("2023-11-16 18:15:46.5000000,800,44\n" + bad)

    def test_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "trace.csv"
            write_trace(path, [(0.0, 16, 5), (2.25, 8, 9)])
            self.assertEqual(read_trace(path, 100), [(0.0, 2, 5), (2.25, 1, 9)])

    def test_engines_in_use_are_counted_while_requests_come_and_behind_the_warm_up(self):
        rows = [(0.0, 1, 1), (10.0, 1, 1)]
        self.assertAlmostEqual(in_use([[0, 4], [1, 2], [5.5, 3]], rows), 2.5)
        self.assertAlmostEqual(in_use([[0, 4], [8, 1], [20, 9]], rows), (7 * 4 + 2 * 1) / 9)


    def test_of_several_rounds_the_median_counts_with_the_faults_of_all(self):
        rounds = [{"in_use_mean": mean, "moves": mean, "faults": faults} for mean, faults in ((3, []), (1, ["late"]), (2, []))]
        self.assertEqual(middle_of(rounds), {"in_use_mean": 2, "moves": 2, "in_use_means": [3, 1, 2], "faults": ["late"]})


class Samples(unittest.TestCase):
    def test_end_with_the_fault_of_who_took_them(self):
        class Router:
            def engines(self):
                raise OSError("gone")

        looked = EnginesInUse(Router())
        looked.thread.join()
        with self.assertRaisesRegex(Failure, "gone"):
            looked.end()

    def test_count_engines_that_hold_tokens(self):
        class Router:
            def engines(self):
                looked.over.set()
                return {"a": {"held_tokens": 3}, "b": {"held_tokens": 0}, "c": {"held_tokens": 1}}

        looked = EnginesInUse(Router())
        looked.thread.join()
        looked.end()
        self.assertEqual([count for _, count in looked.samples], [2])


class Asked:
    """A router, and an engine, at two looks: what is asked twice is counted twice."""

    def __init__(self, *looks):
        self.looks = list(looks)

    def histogram(self, name, **labels):
        return self.looks.pop(0)

    def metric(self, name):
        return self.looks.pop(0)


class PausesOfMoves(unittest.TestCase):
    def test_are_those_since_the_beginning_by_the_bound_that_99_of_100_keep(self):
        router = Asked({0.05: 5, 0.1: 5, math.inf: 7}, {0.05: 103, 0.1: 104, math.inf: 107})
        paused = Pauses(router, {"a": Asked(10, 511), "b": Asked(0, 3)})
        paused.begun -= 25
        told = paused.end()
        self.assertEqual((told["moves"], told["at_most_seconds"]), (100, 0.1))
        self.assertAlmostEqual(told["iteration_ms"], 50, delta=1)
        self.assertAlmostEqual(told["at_most_iterations"], 2, delta=0.1)

    def test_without_a_move_are_not_told(self):
        with self.assertRaises(Failure):
            Pauses(Asked({math.inf: 7}, {math.inf: 7}), {"a": Asked(1, 2)}).end()


class Page(unittest.TestCase):
    def test_a_chart_has_each_line_where_its_values_are(self):
        drawn = xml.fromstring(svg(Chart("a < b", "seconds", "engines", {"live": [(0, 0), (5, 4)], "none": []})))
        paths = [path.get("d") for path in drawn.iter("path")]
        self.assertEqual(paths[-1], "M50.0 220.0H770.0V30.0")
        self.assertEqual(drawn.find("title").text, "a < b")

    def test_a_page_shows_all_parts_and_escapes_what_it_quotes(self):
        seen = {"engines": ["a", "b"], "samples": [[0.1, {"a": 2}], [0.2, {"b": 2}]], "marks": [[0.15, "<drain>"]],
                "moved": [[0.2, "cmpl-1", "a", "b", 17, "ordered"]]}
        line = {"in_use": [[0, 1], [1, 2]]}
        measured = {kind: {"gaps_ms": [25, 26], "moves": 2} for kind in ("kv", "tokens")}
        made = page({"load": {"seen": seen}, "measured": measured,
                     "trace": {"policies": {"pack": {"live": line, "simulated": line}}}}, "1 < 2")
        self.assertEqual(len(re.findall("<svg", made)), 4)
        self.assertIn("<pre>1 &lt; 2</pre>", made)
        self.assertIn("&lt;drain&gt; (0.1 s)", made)
        self.assertIn("<td>cmpl-1<td>a<td>b<td>17<td>ordered", made)

    def test_what_did_not_run_has_no_picture(self):
        self.assertNotIn("<svg", page({}, ""))


class Words(unittest.TestCase):
    def test_tell_why_moves_failed_and_of_none_nothing(self):
        load = {"answers": 1, "wrong": [], "moves": {"kv done": 1}, "failures": {"kv no_room": 2}, "recoveries": 0, "pauses": None}
        words, good = words_of({"load": load, "goals": []})
        self.assertTrue(good)
        self.assertIn("Why moves failed: 2 by kv no_room.", words)
        self.assertNotIn("Why", words_of({"load": load | {"failures": {}}, "goals": []})[0])

    def test_tell_moves_within_servers_from_those_between_them(self):
        def move(kind, giver, taker, end="done"):
            return {"kind": kind, "from": giver, "to": taker, "end": end}

        moves = [move("kv", "a", "b"), move("kv", "a", "c"), move("kv", "d", "a"), move("tokens", "b", "d"),
                 move("kv", "a", "b", "no_room")]
        carried = {"parcels": 2, "bytes": 3_000_000, "link_bytes": 3_100_000}
        ways = ways_of(moves, carried)
        self.assertEqual(ways["done"], {"kv between servers": 2, "kv within servers": 1, "tokens within servers": 1})
        load = {"answers": 1, "wrong": [], "moves": {}, "failures": {}, "recoveries": 0, "pauses": None, "ways": ways}
        words = words_of({"load": load, "goals": []})[0]
        self.assertIn("2 by kv between servers, 1 by kv within servers, 1 by tokens within servers.", words)
        self.assertIn("2 parcels of 3.0 MB in all; 3.1 MB crossed the link", words)
        carried["link_bytes"] = None
        self.assertNotIn("link", words_of({"load": load, "goals": []})[0])


if __name__ == "__main__":
    unittest.main()
