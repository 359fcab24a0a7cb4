// SPDX-License-Identifier: Apache-2.0
// How many engines the policies need for real requests. docs/plan/packing.md has the tables; with
// AQUA_PACKING_TABLE set, they are printed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "aqua/packing/packer.hpp"
#include "tests/systems/packing/replay.hpp"

namespace aqua::packing::test {
namespace {

struct Load {
  std::string name;
  std::vector<TraceRequest> trace;
};

std::vector<Load> loads() {
  const std::vector<TraceRequest> azure = azure_conversations();
  if (azure.empty()) return {};
  std::vector<TraceRequest> faster = azure;
  for (TraceRequest& request : faster) request.second /= 4;
  std::vector<Load> all{{"Azure", azure}, {"Azure, 4 times faster", faster}};
  for (const double rate : {0.5, 0.8, 1.1}) {
    char name[32];
    std::snprintf(name, sizeof name, "outputs x 10, %.1f/s", rate);
    all.push_back({name, poisson(azure, rate, 2400, 10, 1)});
  }
  return all;
}

void print(const std::string& load, const std::string& policy, const Replayed& is) {
  if (std::getenv("AQUA_PACKING_TABLE") == nullptr) return;
  std::printf("| %s | %s | %.2f | %lu | %.2f | %.0f %% | %.2f | %.0f | %.2f | %.1f %% |\n",
              load.c_str(), policy.c_str(), is.engines, static_cast<unsigned long>(is.peak),
              is.bound, 100 * is.utilization, is.moves_per_second, is.moved_tokens_per_second,
              is.preemptions_per_request,
              100 * static_cast<double>(is.certified) / static_cast<double>(is.epochs));
}

std::map<std::string, Replayed> all_policies(const Load& load, const PackerOptions& options) {
  std::map<std::string, Replayed> by;
  for (const std::string& policy : packer_names()) {
    by[policy] = replay(policy, load.trace, options);
    print(load.name, policy, by[policy]);
  }
  PackerOptions reserving = options;
  reserving.reserve = true;
  by["bf, reserving"] = replay("bf", load.trace, reserving);
  print(load.name, "bf, reserving", by["bf, reserving"]);
  return by;
}

TEST(PackingOnTheTrace, MellNeedsFewerEnginesThanSpreadingAndPackTheFewest) {
  const std::vector<Load> all = loads();
  if (all.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Azure trace";
  for (const Load& load : all) {
    SCOPED_TRACE(load.name);
    auto by = all_policies(load, {.watermark = 0, .block_tokens = 1});
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
  const std::vector<Load> all = loads();
  if (all.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Azure trace";
  for (const std::size_t load : {std::size_t{0}, std::size_t{4}}) {
    for (const char* policy : {"mell", "pack"}) {
      const PackerOptions options{.watermark = 0, .block_tokens = 1};
      const Replayed each = replay(policy, all[load].trace, options, {.event_by_event = true});
      const Replayed batched = replay(policy, all[load].trace, options);
      print(all[load].name + ", each event", policy, each);
      print(all[load].name + ", each second", policy, batched);
      EXPECT_LT(batched.moves_per_second, each.moves_per_second) << policy;
    }
  }
}

// Prints only: what the savings hang on.
TEST(PackingOnTheTrace, Sensitivity) {
  if (std::getenv("AQUA_PACKING_TABLE") == nullptr) GTEST_SKIP() << "prints a table, if asked to";
  const std::vector<Load> all = loads();
  ASSERT_FALSE(all.empty());
  for (const double watermark : {0.0, 0.05, 0.1}) {
    for (const std::string& policy : packer_names()) {
      const Replayed is =
          replay(policy, all[1].trace, {.watermark = watermark, .block_tokens = 16});
      print("watermark " + std::to_string(watermark), policy, is);
    }
  }
  for (const std::uint64_t capacity : {8'000ULL, 31'000ULL}) {
    for (const std::string& policy : packer_names()) {
      const Replayed is =
          replay(policy, all[1].trace, {.watermark = 0, .block_tokens = 1}, {.capacity = capacity});
      print("C " + std::to_string(capacity), policy, is);
    }
  }
}

}  // namespace
}  // namespace aqua::packing::test
