// SPDX-License-Identifier: Apache-2.0
// A prefix cache over a LayerPool: what it has stored comes back into other blocks, of layers that
// stay and of layers that are away.
#include "aqua/prefix/prefix_cache.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;

constexpr std::uint32_t kBlockTokens = 4;

class LayerPoolPrefix : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 160_MiB,
                                 .emulated = {.total_bytes = 64_MiB, .hostile = true}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    engine_ = std::make_unique<SwapEngine>(*runtime_, LayerPoolOptions{.layers = 6,
                                                                       .planes_per_layer = 2,
                                                                       .block_bytes = 320_KiB,
                                                                       .device_bytes = 48_MiB,
                                                                       .frames = 4});
    LayerPool& pool = engine_->pool();
    auto made = PrefixCache::create(
        *runtime_,
        {.block_bytes = pool.packed_bytes(1),
         .offload = [&pool](BlockList from, AquaTensor& to,
                            Stream stream) { return pool.offload(from, to, stream); },
         .fetch = [&pool](AquaTensor& from, BlockList to,
                          Stream stream) { return pool.fetch(from, to, stream); }},
        {.index = {.block_tokens = 2 * kBlockTokens}, .engine_block_tokens = kBlockTokens});
    ASSERT_TRUE(made.ok()) << made.error().message;
    cache_ = std::move(*made);
  }
  void TearDown() override {
    cache_.reset();
    engine_.reset();
  }

  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
  std::optional<PrefixCache> cache_;
};

TEST_F(LayerPoolPrefix, WhatIsStoredComesBackIntoOtherBlocks) {
  const std::vector<prefix::Token> tokens(4 * kBlockTokens, 7);
  const auto chain = prefix::hash_chain("", tokens, 2 * kBlockTokens);
  const Blocks from{3, 0, 5, 2}, to{1, 4, 2, 0};
  engine_->must_step(from);
  const Blocks stamps = engine_->stamps_of(from);
  const auto stored = cache_->store({chain, tokens.size()}, from, engine_->stream());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  engine_->must_step({0, 1, 2, 3, 4, 5});  // others have the blocks; nobody has waited
  auto got = cache_->fetch({chain, tokens.size()}, to, engine_->stream());
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->match.tokens, tokens.size());
  engine_->set_stamps(to, stamps);
  engine_->must_step({3});
  engine_->must_step({});
  EXPECT_TRUE(got->wait().ok());
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(LayerPoolPrefix, AFetchThatFailsForAnotherReasonLosesNoPrefix) {
  Result<void> fails{};
  auto cache = PrefixCache::create(
      *runtime_,
      {.block_bytes = engine_->pool().packed_bytes(1),
       .offload = [&](BlockList from, AquaTensor& to,
                      Stream stream) { return engine_->pool().offload(from, to, stream); },
       .fetch = [&](AquaTensor& from, BlockList to, Stream stream) -> Result<Ticket> {
         if (!fails.ok()) return fails.error();
         return engine_->pool().fetch(from, to, stream);
       }},
      {.index = {.block_tokens = kBlockTokens}, .engine_block_tokens = kBlockTokens});
  ASSERT_TRUE(cache.ok());
  const std::vector<prefix::Token> tokens(2 * kBlockTokens, 7);
  const auto chain = prefix::hash_chain("", tokens, kBlockTokens);
  const Blocks blocks{0, 1};
  engine_->must_step(blocks);
  ASSERT_TRUE(cache->store({chain, tokens.size()}, blocks, engine_->stream()).ok());
  fails = Error{Code::data_loss, "a layer of the pool"};
  const auto refused = cache->fetch({chain, tokens.size()}, blocks, engine_->stream());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::data_loss);
  fails = {};
  EXPECT_EQ(cache->fetch({chain, tokens.size()}, blocks, engine_->stream())->match.tokens,
            tokens.size());
}

TEST_F(LayerPoolPrefix, CopiesThatAreMissingAreRefused) {
  const auto refused = PrefixCache::create(*runtime_, PrefixCopies{.block_bytes = 1}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua
