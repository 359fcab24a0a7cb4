// SPDX-License-Identifier: Apache-2.0
// LayerPool with an engine's list of blocks: frames change by what steps measure, the list follows,
// and no byte of a sequence is wrong.
#include "tests/systems/layer_swap/act/changing_layer_pool.hpp"

namespace aqua::test {
namespace {

using LayerPoolAdapt = ChangingLayerPool;
using std::chrono::milliseconds;

TEST_F(LayerPoolAdapt, FramesGiveWayToBlocksThatAreWantedAndComeBack) {
  open(6, "capacity");
  engine_->set_compute(ample_compute());
  EXPECT_EQ(pool().propose(), 6U);
  serve(40, 2, [&] { return pool().status().frames < 5; });
  EXPECT_GT(pool().usable_blocks(), 8U);
  serve(40, 2, [&] { return used() > 8; });
  EXPECT_EQ(engine_->wrong(), 0U);
  for (SequenceId sequence = 100; sequence < next_; ++sequence) {
    engine_->forget(blocks_->blocks_of(sequence));
    (void)blocks_->release(sequence);
  }
  engine_->set_compute(milliseconds(1));
  serve(4, 2, [&] { return pool().status().frames == 6; });
  EXPECT_EQ(pool().status().away_bytes, 0U);
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(LayerPoolAdapt, WhereTheLinkIsSlowNothingIsTried) {
  open(6, "capacity", 10'000'000);
  engine_->set_compute(milliseconds(1));
  const std::uint64_t enough = pool().status().steps + 8;
  serve(40, 2, [&] { return pool().status().steps == enough; });
  EXPECT_EQ(pool().status().frames, 6U);
  EXPECT_TRUE(news_.empty());
}

TEST_F(LayerPoolAdapt, WhatLayersWaitForAndTheLinksTimeAreMeasured) {
  open(6, "capacity", 25'000'000);
  ASSERT_TRUE(pool().resize(4).ok());
  EXPECT_EQ(pool().status().reason, "applied");
  const Blocks some{0, 1};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine_->step(i == 0 ? Blocks{} : some, some).ok());
  engine_->settle();
  ASSERT_TRUE(*pool().step_done(1));
  EXPECT_EQ(pool().propose(), 4U);
  const LayerPoolStatus status = pool().status();
  EXPECT_GT(status.stall_seconds, 0);
  EXPECT_GT(status.compute_seconds, 0);
  EXPECT_GT(status.fetch_seconds, 0);
  EXPECT_GT(status.write_seconds, 0.5 * 2 * static_cast<double>(status.written_bytes) / 3 / 25e6)
      << "of two steps at least";
}

TEST_F(LayerPoolAdapt, WithoutRoomForWhatWouldBeAwayItIsAskedOnce) {
  open(6, "capacity", 0, 12_MiB);
  engine_->set_compute(ample_compute());
  int refused = 0;
  // Until it is asked, however long that takes on this machine, and a dozen steps beyond.
  for (int step_number = 0, beyond = 0; step_number < 200 && beyond < 12; ++step_number) {
    beyond += refused > 0 ? 1 : 0;
    const auto step = engine_->step({}, {}, {.blocks_used = 8, .blocks_wanted = 40});
    ASSERT_TRUE(step.ok());
    engine_->settle();
    const auto there = pool().adapt(*blocks_, engine_->stream());
    if (there.ok()) continue;
    EXPECT_EQ(there.error().code, Code::resource_exhausted) << there.error().message;
    refused += 1;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(pool().status().frames, 6U);
}

}  // namespace
}  // namespace aqua::test
