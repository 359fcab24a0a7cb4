// SPDX-License-Identifier: Apache-2.0
// Blocks of a LayerPool in tensors: a sequence is preempted, others take its blocks, and it comes
// back, in layers that stay and in layers that are away.
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;

const LayerPoolOptions kSmallBlocks{.layers = 6,
                                    .planes_per_layer = 2,
                                    .block_bytes = 320_KiB,
                                    .device_bytes = 48_MiB,
                                    .frames = 5};

class LayerPoolSequences : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = Runtime::open(
        {.device = "emu:0",
         .coordinator = "none",
         .host_bytes = 256_MiB,
         .emulated = {
             .total_bytes = 64_MiB, .hostile = true, .link_bytes_per_second = 200'000'000}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    LayerPoolOptions options = kSmallBlocks;
    options.schedule = GetParam();
    engine_ = std::make_unique<SwapEngine>(*runtime_, options);
  }
  void TearDown() override { engine_.reset(); }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }
  [[nodiscard]] AquaTensor tensor_for(std::size_t blocks, std::size_t offset = 0) {
    return runtime_->allocate({.bytes = offset + pool().packed_bytes(blocks)}).value();
  }

  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
};

TEST_P(LayerPoolSequences, APreemptedSequenceComesBackAsItWas) {
  engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_TRUE(pool().resize(3).ok());  // blocks past the growth lie in tensors of their own
  ASSERT_GT(pool().usable_blocks(), 20U);
  engine_->must_step({20, 1});
  const Blocks sequence{20, 1, 4, 0};
  const Blocks stamps = engine_->stamps_of(sequence);
  AquaTensor swap = tensor_for(4, 64);
  auto out = pool().offload(sequence, swap, engine_->stream(), 64);
  ASSERT_TRUE(out.ok()) << out.error().message;
  // Nobody waits: another sequence has the blocks in the next step.
  engine_->must_step({20, 1, 4, 0});
  engine_->must_step({2});
  auto back = pool().fetch(swap, sequence, engine_->stream(), 64);
  ASSERT_TRUE(back.ok()) << back.error().message;
  engine_->set_stamps(sequence, stamps);
  engine_->must_step({3});
  engine_->must_step({4});
  EXPECT_EQ(engine_->wrong(), 0U);
  EXPECT_TRUE(out->wait().ok());
  EXPECT_TRUE(*back->done());
}

TEST_P(LayerPoolSequences, ATensorHasTheBlocksInThePackedFormOfAllLayers) {
  engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7});
  engine_->must_step({5});
  const Blocks sequence{5, 2, 7};
  AquaTensor swap = tensor_for(3);
  ASSERT_TRUE(pool().offload(sequence, swap, engine_->stream()).ok());
  EXPECT_EQ(engine_->wrong_in(swap, engine_->stamps_of(sequence)), 0U);
}

TEST_P(LayerPoolSequences, WhatCannotBeMovesNothing) {
  engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7});
  AquaTensor swap = tensor_for(2);
  const auto refused = [&](const Blocks& blocks, std::size_t offset, Code code) {
    const auto out = pool().offload(blocks, swap, engine_->stream(), offset);
    const auto in = pool().fetch(swap, blocks, engine_->stream(), offset);
    ASSERT_FALSE(out.ok() || in.ok());
    EXPECT_EQ(out.error().code, code) << out.error().message;
    EXPECT_EQ(in.error().code, code) << in.error().message;
  };
  refused({0, pool().usable_blocks()}, 0, Code::invalid_argument);
  refused({1, 1}, 0, Code::invalid_argument);
  refused({0, 1, 2}, 0, Code::invalid_argument);
  refused({0, 1}, 1, Code::invalid_argument);
  ASSERT_TRUE(pool().begin_step(engine_->stream(), {}, {}).ok());
  refused({0, 1}, 0, Code::failed_precondition);
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    ASSERT_TRUE(pool().begin_layer(layer).ok());
    ASSERT_TRUE(pool().end_layer(layer).ok());
  }
  ASSERT_TRUE(pool().end_step().ok());
  EXPECT_TRUE(*pool().offload({}, swap, engine_->stream())->done());
  engine_->must_step({});
  EXPECT_EQ(engine_->wrong(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Schedules, LayerPoolSequences, test::schedules, test::schedule_name);

}  // namespace
}  // namespace aqua
