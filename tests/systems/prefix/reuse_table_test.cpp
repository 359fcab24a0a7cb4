// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/reuse_table.hpp"

#include <gtest/gtest.h>

namespace aqua::prefix::test {
namespace {

BlockHash block(std::uint64_t number) {
  return {0, number};
}

// Every prompt is one block; block 1 comes every second time, the others never again.
TEST(ReuseTable, CountsHowManyAreAskedForOfThoseWhoReachAnAge) {
  ReuseTable table(1000);
  for (std::uint64_t i = 0; i < 640; ++i) {
    table.begin_prompt();
    table.seen(block(i % 2 == 0 ? 1 : 100 + i));
  }
  EXPECT_EQ(table.kind_of(block(1), 0), 2U);
  EXPECT_EQ(table.kind_of(block(101), 2), 0U);
  EXPECT_EQ(table.kind_of(block(7), 2), 2U) << "not remembered: what the caller thought";
  // Kind 2 was asked for at age 2 always, at age 1 never. Rates never rise with age: pooled.
  EXPECT_NEAR(table.rate(2, 1), 0.5, 0.01);
  EXPECT_NEAR(table.rate(2, 2), 0.5, 0.01);
  EXPECT_LT(table.rate(2, 3), 0.5);
  EXPECT_LT(table.rate(0, 50), 0.01) << "asked for once, and hardly ever again";
}

TEST(ReuseTable, ForgetsTheOldestBeyondItsLimitAndWhatItKnewOfThem) {
  ReuseTable table(3);
  table.begin_prompt();
  table.seen(block(1));
  table.seen(block(1));
  EXPECT_EQ(table.kind_of(block(1), 9), 0U) << "twice in one prompt is once";
  table.begin_prompt();
  table.seen(block(1));
  EXPECT_EQ(table.kind_of(block(1), 9), 1U);
  for (std::uint64_t i = 2; i < 5; ++i) table.entered(block(i));
  EXPECT_EQ(table.kind_of(block(1), 9), 9U);
  table.begin_prompt();
  table.entered(block(4));
  EXPECT_EQ(table.kind_of(block(4), 9), 0U) << "put in again is not asked for";
}

TEST(ReuseTable, WhatWasLearntFades) {
  ReuseTable table(100'000);
  const auto prompts = [&](int count, bool again) {
    for (int i = 0; i < count; ++i) {
      table.begin_prompt();
      table.seen(block(again ? 1 : 10 + table.now()));
    }
  };
  prompts(20'000, true);
  const double before = table.rate(2, 1);
  EXPECT_GT(before, 0.9);
  prompts(60'000, false);  // block 1 ages and is not asked for
  EXPECT_LT(table.rate(2, 100'000), 1e-3);
}

}  // namespace
}  // namespace aqua::prefix::test
