// SPDX-License-Identifier: Apache-2.0
// Time that a finite prefix cache saves on the Mooncake conversation trace, by cost_aware eviction
// and by lru, over a sweep of capacities. Blocks of 512 tokens; costs as in mooncake.hpp.
//
// AQUA_DATA names the folder with traces/. Prints a table; figures are of the trace, not of time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "report/report_file.hpp"
#include "tests/systems/prefix/mooncake.hpp"

int main(int argc, char** argv) {
  using namespace aqua::prefix;
  std::string json;
  CLI::App app{"Time that a finite prefix cache saves, over a sweep of capacities."};
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
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
  aqua::bench::write_report(json, {{"sweep", rows}});
  return 0;
}
