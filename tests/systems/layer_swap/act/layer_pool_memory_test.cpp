// SPDX-License-Identifier: Apache-2.0
// A LayerPool with the goal `memory`: the same blocks in fewer frames, while a neighbour has the
// rest, and more frames again once it has given that back.
#include "aqua/layer_swap/block_pool.hpp"
#include "tests/runtime/runtime_fixture.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

// Six layers of one plane: two slabs a layer, eight blocks.
const LayerPoolOptions kMemoryOptions{.layers = 6,
                                      .planes_per_layer = 1,
                                      .block_bytes = 512_KiB,
                                      .device_bytes = 24_MiB,
                                      .goal = "memory"};

using LayerPoolMemory = test::RuntimeFixture;

TEST_F(LayerPoolMemory, WhatFramesLeaveServesANeighbourAndComesBackWithThem) {
  auto runtime = open({.device = "emu:0",
                       .name = "engine",
                       .host_bytes = 96_MiB,
                       .emulated = {.total_bytes = 32_MiB}});
  test::SwapEngine engine(*runtime, kMemoryOptions);
  LayerPool& pool = engine.pool();
  layer_swap::BlockPool blocks = *layer_swap::BlockPool::create(6, pool.usable_blocks());
  EXPECT_EQ(blocks.usable_blocks(), 8U);
  engine.must_step(*blocks.allocate(1, 8));
  engine.set_compute(milliseconds(20));
  await([&] {
    EXPECT_TRUE(engine.step(engine.stamped(), {0}, {8, 8}).ok());
    engine.settle();
    const auto there = pool.adapt(blocks, engine.stream());
    return there.ok() && pool.status().frames < 6;
  });
  engine.set_compute(milliseconds(0));
  EXPECT_EQ(pool.usable_blocks(), 8U);
  EXPECT_EQ(blocks.usable_blocks(), 8U);
  const std::size_t freed = 24_MiB - pool.status().frames * 4_MiB;
  await([&] { return runtime->status().lent_bytes == freed; });

  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 32_MiB,
                        .max_peer_bytes = freed,
                        .emulated = {.total_bytes = 16_MiB}});
  await([&] { return borrower->status().peer.capacity_bytes == freed; });
  AquaTensor tensor = *borrower->allocate({.bytes = 2_MiB});
  EXPECT_EQ(tensor.tier(), Tier::peer);
  stamp(*borrower, tensor, 7);
  for (int i = 0; i < 3; ++i) engine.must_step({1});
  EXPECT_EQ(engine.wrong(), 0U);

  EXPECT_EQ(pool.resize(6).error().code, Code::unavailable);
  await([&] {
    const auto there = pool.resize(6, blocks, engine.stream());
    EXPECT_TRUE(there.ok());
    return !there.ok() || *there;
  });
  for (int i = 0; i < 3; ++i) engine.must_step({1});
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_EQ(pool.status().away_bytes, 0U);
  EXPECT_EQ(mismatches(*borrower, tensor, 7), 0U);
}

}  // namespace
}  // namespace aqua
