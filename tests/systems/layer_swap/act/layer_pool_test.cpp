// SPDX-License-Identifier: Apache-2.0
// LayerPool: every byte that a layer's kernels read is the one that was written last, at any number
// of frames and across changes of it; and what is refused changes nothing.
#include <future>
#include <numeric>
#include <random>

#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;

Blocks range(std::uint32_t first, std::uint32_t end) {
  Blocks blocks(end - first);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

// Six layers of two planes in 24 slabs: 2 a plane with six frames, 4 with three. Blocks of 640 KiB,
// so that some straddle slabs: 6 to 12 of them.
const LayerPoolOptions kOptions{
    .layers = 6, .planes_per_layer = 2, .block_bytes = 640_KiB, .device_bytes = 48_MiB};

struct Ground {
  bool hostile = false;
  const char* schedule = "fixed";
  friend void PrintTo(const Ground& ground, std::ostream* out) {
    *out << ground.schedule << (ground.hostile ? ", hostile" : "");
  }
};

class LayerPools : public ::testing::TestWithParam<Ground> {
 protected:
  void SetUp() override { open(0); }
  void open(std::uint64_t link_bytes_per_second) {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 256_MiB,
                                 .emulated = {.total_bytes = 64_MiB,
                                              .hostile = GetParam().hostile,
                                              .link_bytes_per_second = link_bytes_per_second}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
  }
  // Fills every block, then reads all and writes a few, again and again, without waiting.
  static void fill_and_decode(SwapEngine& engine, unsigned steps) {
    const std::uint32_t blocks = engine.pool().usable_blocks();
    engine.must_step(range(0, blocks));
    for (unsigned i = 0; i < steps; ++i) engine.must_step({i % blocks, (i + 2) % blocks});
  }
  static LayerPoolOptions with(std::uint32_t frames) {
    LayerPoolOptions options = kOptions;
    options.frames = frames;
    options.schedule = GetParam().schedule;
    return options;
  }

  std::optional<Runtime> runtime_;
};

TEST_P(LayerPools, FewerFramesHoldMoreBlocksAndEveryByteIsTheOneWrittenLast) {
  std::uint32_t before = 0;
  for (const std::uint32_t frames : {6U, 5U, 4U, 3U}) {
    SwapEngine engine(*runtime_, with(frames));
    LayerPool& pool = engine.pool();
    EXPECT_EQ(pool.usable_blocks(), pool.usable_blocks(frames));
    EXPECT_GE(pool.usable_blocks(), before);
    before = pool.usable_blocks();
    fill_and_decode(engine, 4);
    EXPECT_EQ(engine.wrong(), 0U) << frames << " frames";
    const LayerPoolStatus status = pool.status();
    EXPECT_EQ(status.frames, frames);
    EXPECT_EQ(status.steps, 5U);
    if (frames < 6) {
      EXPECT_GT(status.streamed_layers, 6 - frames);
    } else {
      EXPECT_EQ(status.streamed_layers + status.fetched_bytes, 0U);
    }
  }
  EXPECT_EQ(before, 12U);
}

using FixedLayerPools = LayerPools;

TEST_P(FixedLayerPools, ALayersPlanesAreAtTheSameAddressesForLife) {
  SwapEngine engine(*runtime_, with(5));
  std::vector<std::byte*> planes;
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    for (std::byte* const plane : engine.pool().planes(layer)) planes.push_back(plane);
  }
  engine.must_step({0});
  ASSERT_TRUE(engine.pool().resize(3).ok());
  engine.must_step({1});
  std::vector<std::byte*> after;
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    for (std::byte* const plane : engine.pool().planes(layer)) after.push_back(plane);
  }
  EXPECT_EQ(planes, after);
}

TEST_P(FixedLayerPools, OnlyWhatAStepWroteGoesBackAndOnlyWhatItReadsComesIn) {
  SwapEngine engine(*runtime_, with(4));
  engine.must_step(range(0, engine.pool().usable_blocks()));
  const std::size_t layer_block = 2 * kOptions.block_bytes;
  const LayerPoolStatus before = engine.pool().status();
  const std::uint64_t streamed = before.streamed_layers;
  for (unsigned i = 0; i < 3; ++i) {
    const auto done = engine.step({0, 1, 2}, {2});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  const LayerPoolStatus after = engine.pool().status();
  EXPECT_EQ(after.written_bytes - before.written_bytes, 3 * streamed * layer_block);
  EXPECT_EQ(after.fetched_bytes - before.fetched_bytes, 3 * streamed * 3 * layer_block);
  EXPECT_EQ(engine.wrong(), 0U);
}

// Copies take longer than kernels here: what did not wait for them would be far ahead.
TEST_P(LayerPools, NoKernelIsAheadOfTheCopiesIntoItsFrameOrOutOfIt) {
  runtime_.reset();
  open(25'000'000);
  LayerPoolOptions options = with(4);
  options.block_bytes = 64_KiB;
  SwapEngine engine(*runtime_, options);
  for (const bool reads : {false, true, false, true, true}) {
    const auto done = engine.step(reads ? range(0, 4) : Blocks{}, reads ? Blocks{3} : range(0, 4));
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  EXPECT_EQ(engine.wrong(), 0U);
}

TEST_P(LayerPools, BlocksThatAStepReadsAndTheOneBeforeDidNotComeInAsWell) {
  SwapEngine engine(*runtime_, with(4));
  engine.must_step(range(0, 6));
  for (unsigned i = 0; i < 6; ++i) {
    const auto done = engine.step({i % 6, (i + 3) % 6}, {(i + 3) % 6});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  engine.must_step({});
  EXPECT_EQ(engine.wrong(), 0U);
}

TEST_P(LayerPools, NoCallOfAStepWaitsForTheDevice) {
  SwapEngine engine(*runtime_, with(4));
  engine.must_step(range(0, 6));
  std::promise<void> gate;
  ASSERT_TRUE(emulated::launch(*runtime_, engine.stream(), [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  for (unsigned i = 0; i < 3; ++i) engine.must_step({i});
  EXPECT_FALSE(*engine.pool().step_done(4));
  gate.set_value();
  EXPECT_EQ(engine.wrong(), 0U);
  ASSERT_TRUE(engine.pool().resize(5).ok());  // waits for all copies
  EXPECT_TRUE(*engine.pool().step_done(4));
}

TEST_P(LayerPools, ResizesUpAndDownKeepEveryByteOfTheBlocksThatStayUsable) {
  SwapEngine engine(*runtime_, with(6));
  std::mt19937 dice(5);
  engine.must_step(range(0, engine.pool().usable_blocks()));
  for (const std::uint32_t frames : {5U, 3U, 6U, 4U, 3U, 6U, 5U, 4U}) {
    const auto resized = engine.pool().resize(frames);
    ASSERT_TRUE(resized.ok()) << resized.error().message;
    engine.forget_past_end();
    const std::uint32_t blocks = engine.pool().usable_blocks();
    engine.must_step({blocks - 1, static_cast<std::uint32_t>(dice() % (blocks - 1))});
    engine.must_step({static_cast<std::uint32_t>(dice() % blocks)});
    ASSERT_EQ(engine.wrong(), 0U) << frames << " frames";
  }
  ASSERT_TRUE(engine.pool().resize(6).ok());
  EXPECT_EQ(engine.pool().status().away_bytes, 0U);
}

TEST_P(LayerPools, DiscardEmptiesEveryBlockAlsoWithinAStep) {
  SwapEngine engine(*runtime_, with(4));
  engine.must_step(range(0, 8));
  ASSERT_TRUE(engine.pool().begin_step(engine.stream(), {}, {}).ok());
  ASSERT_TRUE(engine.pool().begin_layer(0).ok());
  ASSERT_TRUE(engine.pool().discard().ok());
  engine.forget_all();
  fill_and_decode(engine, 2);
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_EQ(engine.pool().step_done(1).error().code, Code::data_loss);
  EXPECT_TRUE(engine.pool().step_done(4).ok());
}

std::string name_of(const ::testing::TestParamInfo<Ground>& ground) {
  return ground.param.schedule + std::string(ground.param.hostile ? "_hostile" : "_friendly");
}
INSTANTIATE_TEST_SUITE_P(Devices, LayerPools,
                         ::testing::Values(Ground{false, "fixed"}, Ground{true, "fixed"},
                                           Ground{false, "fifo"}, Ground{true, "fifo"}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Devices, FixedLayerPools,
                         ::testing::Values(Ground{false, "fixed"}, Ground{true, "fixed"}), name_of);

}  // namespace
}  // namespace aqua
