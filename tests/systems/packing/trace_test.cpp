// SPDX-License-Identifier: Apache-2.0
// How many engines the policies need for real requests: the goals of docs/plan/packing.md, which
// has the tables of packing_bench.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "aqua/packing/packer.hpp"
#include "packing_bench/replay.hpp"

namespace aqua::packing::test {
namespace {

using namespace bench;

std::map<std::string, Replayed> all_policies(const PackingLoad& load) {
  PackerOptions options{.watermark = 0, .block_tokens = 1};
  std::map<std::string, Replayed> by;
  for (const std::string& policy : packer_names()) by[policy] = replay(policy, load.trace, options);
  options.reserve = true;
  by["bf, reserving"] = replay("bf", load.trace, options);
  return by;
}

TEST(PackingOnTheTrace, MellNeedsFewerEnginesThanSpreadingAndPackTheFewest) {
  const std::vector<PackingLoad> all = packing_loads();
  if (all.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Azure trace";
  for (const PackingLoad& load : all) {
    SCOPED_TRACE(load.name);
    auto by = all_policies(load);
    for (const char* spread : {"wf", "lb"}) {
      EXPECT_LE(by["mell"].engines, 0.88 * by[spread].engines) << spread;
      EXPECT_GE(by["mell"].utilization, 1.12 * by[spread].utilization) << spread;
    }
    for (const auto& [policy, is] : by) EXPECT_LE(by["pack"].engines, 1.01 * is.engines) << policy;
    EXPECT_LE(by["pack"].moved_tokens_per_second, by["drain"].moved_tokens_per_second + 1);
    for (const char* sure : {"mell", "pack"})
      EXPECT_EQ(by[sure].certified, by[sure].epochs) << sure;
  }
}

// The paper's batching (section VI): one plan for all that happened in a second moves less than one
// for each event.
TEST(PackingOnTheTrace, OnePlanASecondMovesLessThanOneForEachEvent) {
  const std::vector<PackingLoad> all = packing_loads();
  if (all.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Azure trace";
  for (const std::size_t load : {std::size_t{0}, std::size_t{4}}) {
    for (const char* policy : {"mell", "pack"}) {
      const PackerOptions options{.watermark = 0, .block_tokens = 1};
      const Replayed each = replay(policy, all[load].trace, options, {.event_by_event = true});
      const Replayed batched = replay(policy, all[load].trace, options);
      EXPECT_LE(batched.moves_per_second, 0.75 * each.moves_per_second) << policy;
    }
  }
}

}  // namespace
}  // namespace aqua::packing::test
