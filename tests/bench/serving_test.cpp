// SPDX-License-Identifier: Apache-2.0
// The engine of layer_pool_bench, under more load than its pool holds: what it counts.
#include "layer_pool_bench/serving.hpp"

#include <gtest/gtest.h>

#include "layer_pool_bench/timing.hpp"

namespace aqua::bench {
namespace {

Shape model() {
  return {.name = "6 layers",
          .layers = 6,
          .block_bytes = 64 << 10,
          .layer_time = std::chrono::milliseconds(8)};
}

TEST(Serving, FramesThatChangeBehindAStepChangeBeforeTheNext) {
  Runtime runtime = open_device(0, 64, 128);
  Serving serving(runtime, {.shape = model(), .goal = "capacity", .sequence_blocks = 8});
  serving.step();
  EXPECT_EQ(serving.filled_at(), 1U);
  EXPECT_FALSE(serving.changed_at());
  while (serving.status().resizes == 0 && serving.engine().posted() < 200) {
    serving.step();
    serving.engine().wait(serving.engine().posted() - 1);
  }
  ASSERT_EQ(serving.status().resizes, 1U);
  EXPECT_EQ(serving.changed_at(), serving.engine().posted() + 1);
  EXPECT_GT(serving.engine().check(), 0U);
}

TEST(Serving, ABatchsTokensAreThoseOfItsStepsAndNotOfItsEnd) {
  Runtime runtime = open_device(0, 64, 128);
  Serving serving(runtime, {.shape = model(),
                            .frames = model().layers,
                            .sequence_blocks = 2,
                            .arrival_steps = 1});  // the n-th step has n tokens
  const Batch batch = serving.batch(4);
  EXPECT_EQ(serving.running(), 7U);
  EXPECT_EQ(batch.tokens, 3U + 4 + 5 + 6) << "two steps before, and one behind it, do not count";
  EXPECT_GT(batch.seconds, 0);
  EXPECT_GT(serving.engine().check(), 0U);
}

}  // namespace
}  // namespace aqua::bench
