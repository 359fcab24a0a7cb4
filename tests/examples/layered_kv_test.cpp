// SPDX-License-Identifier: Apache-2.0
// The demonstration's engine over layers in frames: these change under it, and no byte is wrong, no
// request lost and no token counted twice.
#include "layered_kv.hpp"

#include <gtest/gtest.h>

#include <set>

#include "aqua/runtime.hpp"
#include "must.hpp"
#include "toy_engine.hpp"

namespace aqua::example {
namespace {

constexpr std::uint32_t kRequests = 24, kPrompt = 400, kOutput = 60;

Runtime open_runtime() {
  return must(Runtime::open({.device = "emu:0",
                             .coordinator = "none",
                             .host_bytes = 768_MiB,
                             .emulated = {.total_bytes = 160_MiB, .hostile = true}}),
              "open");
}

// Requests that take three times the blocks which as many frames as layers hold. 64 MiB: 256 blocks
// with 16 to 10 frames, 512 with 8, 1280 with 3.
ConsumerStats serve(const std::string& policy, const LayeredOptions& layers,
                    std::uint64_t changes = 0) {
  Runtime runtime = open_runtime();
  ToyEngine engine(runtime,
                   {.policy = policy, .layers = layers, .swap_blocks = 800, .slice_iterations = 8});
  engine.change_until(changes);
  for (std::uint64_t id = 0; id < kRequests; ++id)
    engine.submit({.id = id, .prompt_tokens = kPrompt, .output_tokens = kOutput});
  while (!engine.idle()) engine.iterate();  // ctest ends what never comes to its end
  ConsumerStats stats = engine.stats();
  EXPECT_EQ(stats.done, kRequests);
  EXPECT_EQ(stats.tokens, kRequests * kOutput);
  EXPECT_EQ(stats.ttft_ms.size(), kRequests);
  EXPECT_EQ(stats.mismatched(), 0U);
  EXPECT_EQ(stats.swap.verified.sum(), stats.swap.fetched.sum());
  EXPECT_GT(stats.expansion.verified_bytes, 0U);
  EXPECT_GE(stats.expansion.resizes, changes);
  return stats;
}

TEST(LayeredKv, FewerFramesHoldMoreSequencesAtATime) {
  const LayeredOptions all{.device_bytes = 64_MiB}, half{.device_bytes = 64_MiB, .frames = 8};
  const ConsumerStats flat = serve("fcfs", all), expanded = serve("fcfs", half);
  EXPECT_EQ(flat.expansion.frames_over_time.at(0).blocks, 256U);
  EXPECT_EQ(flat.expansion.away_bytes, 0U);
  EXPECT_EQ(expanded.expansion.frames_over_time.at(0).blocks, 512U);
  EXPECT_GT(expanded.expansion.fetched_bytes, 0U);
  EXPECT_LT(expanded.expansion.steps, flat.expansion.steps) << "more sequences in each";
}

TEST(LayeredKv, FramesThatChangeAtRandomCostNoByteAndNoRequest) {
  for (const char* policy : {"auto", "cfs"}) {
    const ConsumerStats stats = serve(
        policy, {.device_bytes = 64_MiB, .goal = "capacity", .least_frames = 3, .seed = 7}, 24);
    EXPECT_GT(stats.expansion.moved_blocks, 0U) << policy;
    EXPECT_GT(stats.expansion.preempted, 0U) << policy;
    EXPECT_EQ(stats.expansion.refused, 0U) << policy;
    EXPECT_EQ(stats.expansion.frames_over_time.size(), stats.expansion.resizes + 1) << policy;
  }
}

TEST(ResizeDice, NamesOtherFramesThanThereAreAndAllInTurn) {
  ResizeDice dice(6, 16, 1), same(6, 16, 1);
  std::set<std::uint32_t> named;
  std::uint32_t now = 16;
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t next = dice.frames(now);
    EXPECT_EQ(next, same.frames(now));
    EXPECT_NE(next, now);
    EXPECT_GE(next, 6U);
    EXPECT_LE(next, 16U);
    named.insert(now = next);
  }
  EXPECT_EQ(named.size(), 11U);
}

}  // namespace
}  // namespace aqua::example
