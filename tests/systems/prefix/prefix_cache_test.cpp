// SPDX-License-Identifier: Apache-2.0
// Prefixes through real tensors on the emulated device: every byte that comes back is compared.
#include "aqua/prefix/prefix_cache.hpp"

#include "tests/systems/prefix/engine_blocks.hpp"

namespace aqua {
namespace {

using prefix::hash_chain;
using prefix::Token;
using test::chain;

constexpr std::size_t plane_block = 256;  // bytes of an engine block in one plane

class PrefixCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void start(std::size_t local_bytes = 0) {
    auto runtime = Runtime::open({.device = "emu:0",
                                  .coordinator = "none",
                                  .host_bytes = std::size_t{32} << 20,
                                  .local_bytes = local_bytes,
                                  .curve_directory = "off",
                                  .emulated = {.total_bytes = std::size_t{64} << 20}});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(*runtime);
    engine_ = std::make_unique<test::EngineBlocks>(*runtime_, plane_block);
    stream_ = engine_->stream();
  }
  void TearDown() override {
    cache_.reset();
    engine_.reset();
    runtime_.reset();
  }

  void open(std::size_t capacity) {
    auto cache = PrefixCache::create(
        *runtime_, engine_->layout(),
        {.index = {.block_tokens = 8, .capacity_blocks = capacity}, .engine_block_tokens = 4});
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    cache_ = std::move(*cache);
  }

  static std::vector<std::uint32_t> list(std::uint32_t first, std::uint32_t count) {
    return test::EngineBlocks::list(first, count);
  }
  void fill(BlockList blocks, unsigned seed) { engine_->fill(blocks, seed); }
  std::size_t wrong(BlockList blocks, unsigned seed) { return engine_->wrong(blocks, seed); }
  void store(unsigned seed, std::size_t tokens, BlockList blocks) {
    fill(blocks, seed);
    const auto mine = chain(seed, tokens);
    auto stored = cache_->store({mine, tokens}, blocks, stream_);
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    ASSERT_TRUE(stored->wait().ok());
  }

  std::optional<Runtime> runtime_;
  std::unique_ptr<test::EngineBlocks> engine_;
  Stream stream_;
  std::optional<PrefixCache> cache_;
};

TEST_F(PrefixCacheTest, WhatIsStoredComesBackIntoOtherBlocksByteForByte) {
  open(100);
  const auto from = list(1, 7);  // 27 tokens: the last block of the index is partial
  store(1, 27, from);
  fill(list(0, 64), 99);
  const auto to = list(30, 7);
  const auto mine = chain(1, 27);
  auto got = cache_->fetch({mine, 27}, to, stream_);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->match.tokens, 27U);
  EXPECT_EQ(got->match.slowest, Tier::host);
  ASSERT_TRUE(got->wait().ok());
  EXPECT_EQ(wrong(to, 1), 0U);
  EXPECT_EQ(cache_->bytes(), 7 * 4 * plane_block);
}

TEST_F(PrefixCacheTest, ServesOnWhenItsRuntimeIsMoved) {
  open(100);
  store(1, 16, list(1, 4));
  const std::size_t tensors = runtime_->status().host.tensors;
  Runtime elsewhere = std::move(*runtime_);
  const auto mine = chain(1, 16);
  auto got = cache_->fetch({mine, 16}, list(30, 4), stream_);
  EXPECT_TRUE(got.ok() && got->wait().ok());
  EXPECT_EQ(elsewhere.status().host.tensors, tensors);
  *runtime_ = std::move(elsewhere);
  EXPECT_EQ(wrong(list(30, 4), 1), 0U);
}

TEST_F(PrefixCacheTest, OnlyTheSharedBeginningIsFetchedAndOnlyTheRestIsStored) {
  open(100);
  store(1, 16, list(1, 4));
  std::vector<Token> longer(24);
  std::iota(longer.begin(), longer.end(), 1000U);
  const auto mine = hash_chain("tenant", longer, 8);
  const auto to = list(30, 6);
  fill(to, 50);
  auto got = cache_->fetch({mine, 24}, to, stream_);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->match.blocks, 2U);
  ASSERT_TRUE(got->wait().ok());
  EXPECT_EQ(wrong(BlockList(to).first(4), 1), 0U);
  auto stored = cache_->store({mine, 24}, to, stream_);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->blocks, 1U);
  ASSERT_TRUE(stored->wait().ok());
}

TEST_F(PrefixCacheTest, EvictedPrefixesFreeTheirTensorsAndTheOthersKeepTheirBytes) {
  open(6);
  for (unsigned seed = 1; seed <= 5; ++seed) store(seed, 16, list(seed, 4));
  EXPECT_EQ(cache_->bytes(), 6 * 2 * 4 * plane_block);
  EXPECT_EQ(runtime_->status().host.tensors, 6U);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const auto mine = chain(seed, 16);
    const auto to = list(40, 4);
    fill(to, 77);
    auto got = cache_->fetch({mine, 16}, to, stream_);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->match.blocks, seed <= 2 ? 0U : 2U);
    ASSERT_TRUE(got->wait().ok());
    if (seed > 2) {
      EXPECT_EQ(wrong(to, seed), 0U);
    }
  }
  cache_->set_capacity(0);
  EXPECT_EQ(cache_->bytes(), 0U);
  EXPECT_EQ(runtime_->status().host.tensors, 0U);
}

TEST_F(PrefixCacheTest, ANamedPrefixIsPinnedUntilItIsDropped) {
  open(4);
  const auto from = list(3, 4);
  fill(from, 9);
  const auto mine = chain(9, 16);
  auto stored = cache_->store_as("manual", {mine, 16}, from, stream_);
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  for (unsigned seed = 1; seed <= 4; ++seed) store(seed, 16, list(seed, 4));
  const auto to = list(50, 4);
  fill(to, 33);
  auto got = cache_->fetch_by("manual", to, stream_);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->match.blocks, 2U);
  ASSERT_TRUE(got->wait().ok());
  EXPECT_EQ(wrong(to, 9), 0U);
  EXPECT_TRUE(cache_->drop("manual").ok());
  EXPECT_EQ(cache_->fetch_by("manual", to, stream_).error().code, Code::not_found);
  for (unsigned seed = 5; seed <= 8; ++seed) store(seed, 16, list(seed, 4));
  EXPECT_EQ(cache_->match({mine, 16}).blocks, 0U);
}

TEST_F(PrefixCacheTest, APreemptedSequenceGetsTheRoomOfPrefixesThatAreNotPinned) {
  open(100);
  constexpr std::size_t of_a_prompt = 4 * 4 * plane_block;
  const auto pinned = chain(9, 16);
  fill(list(3, 4), 9);
  ASSERT_TRUE(cache_->store_as("manual", {pinned, 16}, list(3, 4), stream_).ok());
  const std::size_t room = 3 * of_a_prompt;  // what all prefixes have, but for the pinned one
  const auto filler = runtime_->allocate(
      {.bytes = (std::size_t{32} << 20) - of_a_prompt - room, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  for (unsigned seed = 1; seed <= 3; ++seed) store(seed, 16, list(seed, 4));
  // A tensor's memory is free once its stream is past the copies that used it.
  ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  ASSERT_EQ(cache_->bytes(), room + of_a_prompt);

  const TensorOptions sequence{.bytes = of_a_prompt, .name = "sequence"};
  EXPECT_EQ(runtime_->allocate(sequence).error().code, Code::resource_exhausted);
  const auto first = cache_->allocate(sequence);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(cache_->match({chain(1, 16), 16}).blocks, 0U) << "the oldest goes";
  EXPECT_EQ(cache_->match({chain(2, 16), 16}).blocks, 2U) << "and no more than it takes";
  const auto second = cache_->allocate({.bytes = 2 * of_a_prompt, .name = "sequence"});
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(cache_->allocate(sequence).error().code, Code::resource_exhausted);
  const auto to = list(50, 4);
  fill(to, 33);
  auto got = cache_->fetch_by("manual", to, stream_);
  ASSERT_TRUE(got.ok() && got->wait().ok());
  EXPECT_EQ(got->match.blocks, 2U);
  EXPECT_EQ(wrong(to, 9), 0U);
}

TEST_F(PrefixCacheTest, NoPrefixIsGivenUpForMemoryThatATensorMayNotHave) {
  TearDown();
  start(std::size_t{4} << 20);
  open(100);
  store(1, 16, list(1, 4));
  const auto mine = chain(1, 16);
  const auto far = cache_->allocate({.bytes = 4096, .name = "sequence", .off_device = true});
  ASSERT_TRUE(far.ok()) << far.error().message;
  EXPECT_EQ(far->tier(), Tier::host);
  EXPECT_EQ(cache_->match({mine, 16}).blocks, 2U);
  EXPECT_EQ(cache_->fetch({mine, 16}, list(30, 4), stream_)->match.slowest, Tier::local);
}

TEST_F(PrefixCacheTest, TooFewBlocksAndWrongOptionsAreRefused) {
  open(4);
  store(1, 16, list(1, 4));
  const auto mine = chain(1, 16);
  EXPECT_EQ(cache_->fetch({mine, 16}, list(1, 3), stream_).error().code, Code::invalid_argument);
  EXPECT_EQ(cache_->store({mine, 16}, list(1, 3), stream_).error().code, Code::invalid_argument);
  EXPECT_EQ(PrefixCache::create(*runtime_, engine_->layout(), {.index = {.block_tokens = 10}})
                .error()
                .code,
            Code::invalid_argument);
  cache_->forget({mine, 16});
  EXPECT_EQ(cache_->bytes(), 0U);
}

}  // namespace
}  // namespace aqua
