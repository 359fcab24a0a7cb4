// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/slab_market.hpp"

#include <gtest/gtest.h>

#include "tools/sim/engine/swap_space.hpp"

namespace aqua::sim {
namespace {

constexpr std::uint64_t kSlab = 1 << 20;
constexpr double kMiB = 1 << 20;

TEST(SlabMarket, LeasesAsMuchAsIsUsedAndNoMoreThanIsOffered) {
  SlabMarket market(kSlab, 1e12);
  EXPECT_EQ(market.offer(10.5 * kMiB, 0), 10 * kMiB);
  EXPECT_EQ(market.borrower().usable_bytes(), 0);
  EXPECT_EQ(market.borrower().reachable_bytes(), 10 * kMiB);
  market.borrower().use(2.5 * kMiB, 0);
  EXPECT_EQ(market.borrower().usable_bytes(), 3 * kMiB);
  market.borrower().use(50 * kMiB, 0);
  EXPECT_EQ(market.borrower().usable_bytes(), 10 * kMiB);
  EXPECT_EQ(market.ledger().check_invariants(), "");
}

TEST(SlabMarket, WhatIsReclaimedComesBackAfterItIsEmptyAndScrubbed) {
  SlabMarket market(kSlab, kMiB);  // scrubs a slab a second
  market.offer(4 * kMiB, 0);
  market.borrower().use(4 * kMiB, 0);
  EXPECT_EQ(market.reclaim(2 * kMiB, 10 * kPicosPerSecond, kPicosPerSecond), 0);
  EXPECT_EQ(market.borrower().usable_bytes(), 2 * kMiB);
  market.borrower().settle(3 * kMiB, kPicosPerSecond);  // too much is still there
  EXPECT_EQ(market.next_change(), kNever);
  market.borrower().settle(2 * kMiB, kPicosPerSecond);
  EXPECT_EQ(market.next_change(), 2 * kPicosPerSecond);
  market.advance(2 * kPicosPerSecond);
  EXPECT_EQ(market.lent_bytes(), 3 * kMiB);
  EXPECT_TRUE(market.reclaiming());
  market.advance(3 * kPicosPerSecond);
  EXPECT_EQ(market.lent_bytes(), 2 * kMiB);
  EXPECT_FALSE(market.reclaiming());
  EXPECT_EQ(market.ledger().check_invariants(), "");
}

TEST(SlabMarket, SeveralBorrowTheSameLendersSlabsEachItsOwn) {
  SlabMarket market(kSlab, 1e12, 2);
  market.offer(6 * kMiB, 0);
  SlabMarket::Borrower &one = market.borrower(0), &two = market.borrower(1);
  one.use(4 * kMiB, 0);
  EXPECT_EQ(two.reachable_bytes(), 2 * kMiB);
  two.use(4 * kMiB, 0);
  EXPECT_EQ(two.usable_bytes(), 2 * kMiB);
  EXPECT_EQ(market.leased_bytes(), 6 * kMiB);
  EXPECT_EQ(market.reclaim(6 * kMiB, 10 * kPicosPerSecond, 0), 0);
  EXPECT_EQ(one.usable_bytes() + two.usable_bytes(), 0);
  one.settle(0, 0);
  EXPECT_EQ(market.leased_bytes(), 2 * kMiB) << "the other's are still with it";
  two.settle(0, 0);
  market.advance(kPicosPerSecond);
  EXPECT_FALSE(market.reclaiming());
  EXPECT_EQ(market.lent_bytes(), 0);
  EXPECT_EQ(market.ledger().check_invariants(), "");
}

TEST(SwapSpace, MovesToThePeerWhatFoundNoRoomThereAndNotWhatWasPutOnTheHost) {
  SlabMarket market(kSlab, 1e12);
  market.offer(4 * kMiB, 0);
  SwapSpace swap(&market.borrower());
  EXPECT_EQ(swap.reserve(1, kMiB, 0, Tier::host), Tier::host);
  EXPECT_EQ(swap.reserve(2, 3 * kMiB, 0), Tier::peer);
  EXPECT_EQ(swap.reserve(3, 2 * kMiB, 0), Tier::host);
  EXPECT_EQ(swap.reserve(4, 2 * kMiB, 0, Tier::host), Tier::host);  // there was no other room
  swap.release(2, 0);
  const auto nobody = [](std::uint64_t) { return false; };
  EXPECT_EQ(swap.to_promote(nobody), (std::vector<std::uint64_t>{3, 4}));
}

TEST(SwapSpace, FillsThePeerThenTheHostAndMovesOffRevokedSlabs) {
  SlabMarket market(kSlab, 1e12);
  market.offer(2 * kMiB, 0);
  SwapSpace swap(&market.borrower());
  EXPECT_EQ(swap.reserve(1, kMiB, 0), Tier::peer);
  EXPECT_EQ(swap.reserve(2, kMiB, 0), Tier::peer);
  EXPECT_EQ(swap.reserve(3, kMiB, 0), Tier::host);
  market.reclaim(kMiB, 10 * kPicosPerSecond, kPicosPerSecond);
  const auto nobody = [](std::uint64_t) { return false; };
  EXPECT_EQ(swap.to_evacuate(nobody), (std::vector<std::uint64_t>{1}));
  swap.moving(1, Tier::host, kPicosPerSecond);
  EXPECT_TRUE(swap.to_evacuate(nobody).empty());
  swap.moved(1, kPicosPerSecond);
  EXPECT_EQ(swap.tier_of(1), Tier::host);
  EXPECT_EQ(swap.peer_bytes(), kMiB);
  EXPECT_NE(market.next_change(), kNever);  // the slab is on its way back
}

}  // namespace
}  // namespace aqua::sim
