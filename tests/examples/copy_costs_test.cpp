// SPDX-License-Identifier: Apache-2.0
// Measured copies decide where a scheduler has sequences go.
#include "copy_costs.hpp"

#include <gtest/gtest.h>

#include <set>

namespace aqua::example {
namespace {

using namespace schedule;

// Where auto has its first page-outs go.
std::set<Tier> tiers_out(Scheduler& scheduler) {
  std::set<Tier> tiers;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    must(scheduler.arrive({.id = SequenceId{id}, .prompt_tokens = 20}), "arrive");
  }
  for (int i = 0; i < 20; ++i) {
    const Batch batch = scheduler.next();
    for (const Preemption& out : batch.preemptions) {
      tiers.insert(out.to);
      must(scheduler.paged_out(out.id, out.to), "paged_out");
    }
    for (const PageIn& in : batch.page_ins) must(scheduler.paged_in(in.id), "paged_in");
    if (batch.computes()) must(scheduler.commit(), "commit");
  }
  return tiers;
}

TEST(CopyCosts, TheQuickestOfTheLastDecides) {
  auto scheduler =
      must(make_scheduler("auto", {.budget_tokens = 32, .block_tokens = 4, .device_blocks = 40}),
           "auto");
  CopyCosts costs;
  EXPECT_EQ(costs.seconds_per_block(Tier::host), 0);
  costs.came_back(*scheduler, Tier::peer, 4, 0.04);
  costs.came_back(*scheduler, Tier::host, 2, 0.004);
  for (std::size_t i = 1; i < CopyCosts::kLast; ++i)
    costs.came_back(*scheduler, Tier::host, 1, 0.5);
  EXPECT_DOUBLE_EQ(costs.seconds_per_block(Tier::peer), 0.01);
  EXPECT_DOUBLE_EQ(costs.seconds_per_block(Tier::host), 0.002);
  EXPECT_EQ(tiers_out(*scheduler), std::set{Tier::host});
  costs.came_back(*scheduler, Tier::host, 1, 0.5);
  EXPECT_DOUBLE_EQ(costs.seconds_per_block(Tier::host), 0.5) << "what is long ago is forgotten";
}

TEST(CopyCosts, WhatTheClockDoesNotSeeIsLeftOut) {
  auto scheduler = must(make_scheduler("auto", {.device_blocks = 40}), "auto");
  CopyCosts costs;
  costs.came_back(*scheduler, Tier::host, 4, 0);
  costs.came_back(*scheduler, Tier::host, 0, 1);
  costs.came_back(*scheduler, Tier::local, 4, 1);
  EXPECT_EQ(costs.seconds_per_block(Tier::host), 0);
}

}  // namespace
}  // namespace aqua::example
