// SPDX-License-Identifier: Apache-2.0
// A prefix cache that is kept, in memory that its lender takes back: the keeper is never in the
// way, and has what a reclaim drops.
#include "tests/base/eventually.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/prefix/prefix_at_a_peer.hpp"

namespace aqua::test {
namespace {

class KeptPrefixAtAPeer : public PrefixAtAPeer {
 protected:
  void open_kept() {
    open_cache(100, PrefixKeeping{.name = "engine",
                                  .shape = "model, bytes",
                                  .max_bytes = std::size_t{64} << 20,
                                  .segment_bytes = std::size_t{2} << 20,
                                  .keeper = keeper_.socket()});
  }
  KeeperProcess keeper_;
};

TEST_F(KeptPrefixAtAPeer, WhatAReclaimDropsIsFetchedFromTheKeeper) {
  open_kept();
  auto filler = borrower_->allocate({.bytes = std::size_t{64} << 20, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  for (unsigned i = 0; i < 4; ++i) store(i, i);
  ASSERT_TRUE(cache_->write_behind(std::chrono::seconds(60))) << cache_->kept().error;
  EXPECT_EQ(cache_->kept().blocks, 4 * prompt_blocks);
  take_back();
  EXPECT_EQ(hit(1, 1).blocks, 0U) << "host memory is full: there is no room for a tensor";
  *filler = AquaTensor();
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_TRUE(eventually([&] { return hit(i, i).tokens == prompt; })) << i;
  }
  EXPECT_EQ(cache_->bytes(), 4 * prompt_blocks * 2 * engine_->block_bytes());
}

TEST_F(KeptPrefixAtAPeer, AStoppedKeeperHoldsUpNeitherTheEngineNorAReclaim) {
  open_kept();
  store(0, 0);
  ASSERT_TRUE(cache_->write_behind(std::chrono::seconds(60)));
  keeper_.process().stop();
  for (unsigned i = 1; i < 12; ++i) store(i, i);
  EXPECT_FALSE(cache_->write_behind());
  EXPECT_GT(cache_->kept().waiting, 0U);
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(hit(i, i).tokens, prompt);
  take_back();
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(hit(i, i).tokens, prompt);
  keeper_.process().signal(SIGCONT);
  EXPECT_TRUE(cache_->write_behind(std::chrono::seconds(60)));
  EXPECT_EQ(cache_->kept().blocks, 12 * prompt_blocks);
}

}  // namespace
}  // namespace aqua::test
