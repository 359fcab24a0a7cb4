// SPDX-License-Identifier: Apache-2.0
// Time that a finite prefix cache saves on the Mooncake conversation trace, by cost_aware eviction
// and by lru, over a sweep of capacities. Blocks of 512 tokens; costs as in mooncake.hpp.
//
//   AQUA_DATA=FOLDER prefix_sweep [--json FILE]     a table; figures are of the trace, not of time
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/systems/prefix/mooncake.hpp"

int main(int argc, char** argv) {
  using namespace aqua::prefix;
  const bool to_file = argc == 3 && std::string_view(argv[1]) == "--json";
  if (argc != 1 && !to_file) {
    std::fputs("usage: AQUA_DATA=FOLDER prefix_sweep [--json FILE]\n", stderr);
    return 2;
  }
  const auto prompts = test::mooncake_conversation();
  if (prompts.empty()) {
    std::fputs(
        "prefix_sweep: AQUA_DATA names no folder with traces/mooncake_conversation_trace.jsonl\n",
        stderr);
    return 1;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const std::size_t capacity :
       {100U,   180U,   250U,   350U,   500U,   700U,    1000U,   1400U,   2000U,  3000U,  4000U,
        6000U,  8000U,  10000U, 12000U, 14000U, 16000U,  20000U,  24000U,  28000U, 32000U, 40000U,
        48000U, 56000U, 64000U, 80000U, 96000U, 110000U, 128000U, 150000U, 183000U}) {
    const auto run = [&](Eviction eviction) {
      return test::replay(prompts, test::conversation_options(capacity, eviction));
    };
    const test::Savings cost = run(Eviction::cost_aware), lru = run(Eviction::lru);
    std::printf("%7zu blocks: lru %7.1f s, cost_aware %7.1f s, ratio %.3f\n", capacity, lru.seconds,
                cost.seconds, cost.seconds / lru.seconds);
    std::fflush(stdout);
    rows.push_back({{"capacity_blocks", capacity},
                    {"cost_aware_seconds", cost.seconds},
                    {"lru_seconds", lru.seconds},
                    {"ratio", cost.seconds / lru.seconds},
                    {"cost_aware_hit_blocks", cost.hit_blocks},
                    {"lru_hit_blocks", lru.hit_blocks}});
  }
  if (!to_file) return 0;
  std::ofstream file(argv[2]);
  file << nlohmann::json{{"sweep", rows}}.dump(1) << '\n';
  return file.flush() ? 0 : 1;
}
