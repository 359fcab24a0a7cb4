// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/lent_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace aqua::sim {
namespace {

constexpr std::uint64_t kSlab = 1 << 20;
constexpr double kMiB = 1 << 20;

class PoolOfLenders : public ::testing::Test {
 protected:
  SlabMarket market_{kSlab, kMiB, 1};  // scrubs a slab a second
  std::vector<std::size_t> returned_;
  int changes_ = 0;
  LentPool pool_{market_, 4.5 * kMiB, [this](Picos) { ++changes_; },
                 [this](std::size_t engine, Picos) { returned_.push_back(engine); }};
};

TEST_F(PoolOfLenders, WhatNobodyBorrowsIsBackAtOnce) {
  pool_.lend(0, 0);
  pool_.lend(1, 0);
  EXPECT_EQ(market_.lent_bytes(), 8 * kMiB) << "whole slabs";
  pool_.take_back(1, 0);
  EXPECT_EQ(returned_, (std::vector<std::size_t>{1}));
  EXPECT_EQ(market_.lent_bytes(), 4 * kMiB);
  EXPECT_TRUE(pool_.settled());
}

TEST_F(PoolOfLenders, WhatIsBorrowedComesBackWhenItIsEmptyAndScrubbed) {
  pool_.lend(0, 0);
  pool_.lend(1, 0);
  market_.borrower().use(6 * kMiB, 0);
  pool_.take_back(0, 0);
  pool_.take_back(1, 0);
  EXPECT_TRUE(returned_.empty());
  EXPECT_FALSE(pool_.settled());
  market_.borrower().settle(0, 0);
  for (int guard = 0; !pool_.settled() && guard < 20; ++guard) {
    const Picos now = pool_.next();
    if (now == kNever) break;
    pool_.act(now, kNever);
    market_.borrower().settle(0, now);
  }
  EXPECT_EQ(returned_, (std::vector<std::size_t>{0, 1})) << "one after the other";
  EXPECT_EQ(market_.lent_bytes(), 0);
  EXPECT_EQ(market_.ledger().check_invariants(), "");
}

TEST_F(PoolOfLenders, OneThatIsNotNeededAfterAllLendsAgain) {
  pool_.lend(0, 0);
  market_.borrower().use(kMiB, 0);
  pool_.take_back(0, 0);
  pool_.lend(0, 0);
  market_.borrower().settle(0, 0);
  for (Picos now = pool_.next(); now != kNever; now = pool_.next()) pool_.act(now, kNever);
  EXPECT_TRUE(returned_.empty());
  EXPECT_EQ(market_.lent_bytes(), 4 * kMiB);
  EXPECT_GT(changes_, 0);
}

}  // namespace
}  // namespace aqua::sim
