#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of check_includes.py is broken once, and noticed; what is allowed is not."""
import unittest

import check_includes

ARROWS = {"src/base": set(), "src/runtime": {"base"}, "src/capi": {"base", "runtime"}, "src/layout": {"base"}, "tools/sim": {"base"}, "tools/cli": {"base", "sim"},
          "tools/sim_server": {"sim"}, "coordinator/http": {"common"}, "coordinator/common": set(), "coordinator": set()}
FILES = {
    "include/aqua/runtime.hpp": "", "include/aqua/result.hpp": "",
    "include/aqua/prefix/index.hpp": '#include "aqua/result.hpp"', "include/aqua/prefix/cache.hpp": "#include <aqua/runtime.hpp>",
    "include/aqua/schedule/plan.hpp": "", "src/base/try.hpp": "", "src/base/mutex.hpp": "", "src/runtime/loop.hpp": "",
    "src/layout/shards.cpp": "",
    "src/capi/call.hpp": "", "src/systems/prefix/capi/cache.cpp": "",
    "src/systems/prefix/decide/tree.hpp": "", "src/systems/prefix/act/cache.cpp": "", "src/systems/schedule/decide/deal.hpp": "",
    "tools/sim/engine.hpp": "", "tools/sim_server/main.cpp": "", "tools/cli/main.cpp": "", "tools/options/line.hpp": "",
    "coordinator/http/server.cpp": "", "coordinator/common/log.hpp": "", "examples/play.cpp": "", "examples/common/must.hpp": "",
}
REFUSED = [
    ("src/runtime/loop.hpp", '#include "systems/prefix/decide/tree.hpp"'),
    ("src/runtime/loop.hpp", '#include "aqua/prefix/index.hpp"'),
    ("include/aqua/result.hpp", '#include "aqua/prefix/index.hpp"'),
    ("src/base/try.hpp", '#include "runtime/loop.hpp"'),
    ("src/systems/schedule/decide/deal.hpp", '#include "aqua/prefix/index.hpp"'),
    ("src/systems/schedule/decide/deal.hpp", '#include "systems/prefix/decide/tree.hpp"'),
    ("src/systems/prefix/decide/tree.hpp", '#include "aqua/prefix/cache.hpp"'),
    ("src/systems/prefix/decide/tree.hpp", "#include <aqua/runtime.hpp>"),
    ("src/systems/prefix/decide/tree.hpp", '#include "base/mutex.hpp"'),
    ("src/systems/prefix/decide/tree.hpp", "#include <thread>"),
    ("src/systems/prefix/decide/tree.hpp", "auto now = std::chrono::steady_clock::now();"),
    ("src/layout/shards.cpp", "#include <thread>"),
    ("src/layout/shards.cpp", "auto now = std::chrono::steady_clock::now();"),
    ("src/layout/shards.cpp", '#include "runtime/loop.hpp"'),
    ("src/systems/prefix/act/cache.cpp", '#include "runtime/loop.hpp"'),
    ("src/systems/prefix/act/cache.cpp", '#include "capi/call.hpp"'),
    ("src/systems/prefix/act/cache.cpp", '#include "systems/prefix/capi/cache.cpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "systems/prefix/act/cache.cpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "runtime/loop.hpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "aqua/schedule/plan.hpp"'),
    ("src/capi/call.hpp", '#include "systems/prefix/capi/cache.cpp"'),
    ("src/capi/call.hpp", '#include "aqua/prefix/cache.hpp"'),
    ("tools/sim/engine.hpp", '#include "aqua/prefix/cache.hpp"'),
    ("tools/sim_server/main.cpp", '#include "systems/prefix/decide/tree.hpp"'),
    ("coordinator/http/server.cpp", '#include "aqua/prefix/cache.hpp"'),
    ("coordinator/common/log.hpp", '#include "coordinator/http/server.cpp"'),
    ("examples/play.cpp", '#include "base/try.hpp"'),
    ("examples/play.cpp", '#include "samples.hpp"'),
    ("src/runtime/loop.hpp", "#include <spdlog/spdlog.h>"),
    ("src/runtime/loop.hpp", '#include "tests/runtime/runtime_fixture.hpp"'),
    ("tools/sim/engine.hpp", '#include "bench/samples.hpp"'),
    ("tools/sim/engine.hpp", "#include <nlohmann/json.hpp>"),
    ("src/systems/prefix/act/cache.cpp", "int main() {"),
]
ALLOWED = [
    ("src/runtime/loop.hpp", '#include "base/mutex.hpp"'),
    ("src/layout/shards.cpp", '#include "base/try.hpp"'),
    ("src/systems/prefix/decide/tree.hpp", '#include "aqua/prefix/index.hpp"'),
    ("src/systems/prefix/decide/tree.hpp", '#include "base/try.hpp"'),
    ("src/systems/prefix/act/cache.cpp", '#include "aqua/prefix/cache.hpp"'),
    ("src/systems/prefix/act/cache.cpp", '#include "systems/prefix/decide/tree.hpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "aqua/prefix/cache.hpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "capi/call.hpp"'),
    ("src/systems/prefix/capi/cache.cpp", '#include "base/mutex.hpp"'),
    ("tools/sim/engine.hpp", '#include "systems/schedule/decide/deal.hpp"'),
    ("tools/sim/engine.hpp", '#include "aqua/prefix/index.hpp"'),
    ("coordinator/http/server.cpp", '#include "coordinator/common/log.hpp"'),
    ("examples/play.cpp", '#include "aqua/prefix/cache.hpp"'),
    ("examples/play.cpp", '#include "tools/options/line.hpp"'),
    ("examples/play.cpp", '#include "must.hpp"'),
    ("src/runtime/loop.hpp", "#include <nlohmann/json_fwd.hpp>"),
    ("coordinator/http/server.cpp", "#include <spdlog/spdlog.h>"),
    ("tools/cli/main.cpp", "int main() {"),
]


class CheckIncludes(unittest.TestCase):
    def faults(self, path: str, line: str) -> list[str]:
        return check_includes.House({**FILES, path: line}, ARROWS | {"tools/options": set()}).faults_of(path)

    def test_refuses_each_arrow_that_a_rule_forbids(self):
        for path, line in REFUSED:
            self.assertEqual(len(self.faults(path, line)), 1, f"{path}: {line}")

    def test_allows_what_the_rules_allow(self):
        for path, line in ALLOWED:
            self.assertEqual(self.faults(path, line), [], f"{path}: {line}")

    def test_counts_lines_and_files(self):
        most, files = check_includes.MOST_LINES, [f"src/{n}.cpp" for n in range(check_includes.MOST_FILES)]
        self.assertEqual(check_includes.faults_of_size({"a": most}, files), [])
        self.assertEqual(len(check_includes.faults_of_size({"a": most + 1}, [*files, "src/one.cpp"])), 2)


if __name__ == "__main__":
    unittest.main()
