// SPDX-License-Identifier: Apache-2.0
// Prints a profile with something of everything, for schema_test.py.
#include <cstdio>

#include "tools/profiler/search/record.hpp"

int main() {
  aqua::profiler::Record record;
  record.profile = {.role = aqua::ProfileRole::consumer, .max_rps = 2.5, .swap_bytes = 1};
  record.evidence.memory = "vllm";
  record.evidence.settings = {{"from", "1"}};
  record.evidence.probes.push_back({.rate = 2.5, .seed = 1000, .met = true});
  record.evidence.bursts.push_back({.factor = 2});
  record.evidence.batches.push_back({.batch = 1});
  record.evidence.warnings["usage"] = "a warning";
  std::fputs(aqua::profiler::render_record(record).c_str(), stdout);
}
