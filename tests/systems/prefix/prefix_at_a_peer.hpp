// SPDX-License-Identifier: Apache-2.0
// A prefix cache whose tensors lie in memory that a neighbour lends, and takes back when told to.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "tests/runtime/runtime_fixture.hpp"
#include "tests/systems/prefix/engine_blocks.hpp"

namespace aqua::test {

class PrefixAtAPeer : public RuntimeFixture {
 public:
  static constexpr std::size_t lent = std::size_t{16} << 20;  // four slabs
  static constexpr std::size_t prompt =
      32;  // tokens: eight engine blocks, four of the index, 512 KiB
  static constexpr std::size_t prompt_blocks = 4;

 protected:
  void SetUp() override {
    lender_ = open({.device = "emu:0", .name = "lender"});
    borrower_ = open({.device = "emu:1",
                      .name = "borrower",
                      .host_bytes = std::size_t{64} << 20,
                      .max_peer_bytes = lent});
    engine_ = std::make_unique<EngineBlocks>(*borrower_, std::size_t{16} << 10);
    lend();
  }
  void TearDown() override {
    cache_.reset();
    engine_.reset();
  }
  void lend() {
    ASSERT_TRUE(lender_->lend(lent).ok());
    await([&] { return borrower_->status().peer.capacity_bytes == lent; });
  }
  // All of it, which takes until the last slab is home.
  void take_back() {
    auto reclaim = lender_->reclaim(lent, std::chrono::milliseconds(20'000));
    ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
    EXPECT_EQ(lender_->status().lent_bytes, 0U);
  }
  void open_cache(std::size_t capacity, const std::optional<PrefixKeeping>& keep = {}) {
    cache_ = *PrefixCache::create(*borrower_, engine_->layout(),
                                  {.index = {.block_tokens = 8, .capacity_blocks = capacity},
                                   .engine_block_tokens = 4,
                                   .keep = keep});
  }
  // The KV that `seed` says, of prompt `number` of a tenant.
  void store(unsigned seed, unsigned number, const char* tenant = "tenant") {
    const auto from = EngineBlocks::list(seed, 8);
    engine_->fill(from, seed);
    const auto hashes = chain(number, prompt, tenant);
    auto stored = cache_->store({hashes, prompt}, from, engine_->stream());
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    ASSERT_TRUE(stored->wait().ok());
  }
  // Fetches it into other blocks. Whole and as it was stored, or nothing.
  prefix::PrefixMatch hit(unsigned seed, unsigned number, const char* tenant = "tenant") {
    const auto hashes = chain(number, prompt, tenant);
    engine_->fill(into_, seed + 1);
    return arrived(cache_->fetch({hashes, prompt}, into_, engine_->stream()), seed);
  }
  prefix::PrefixMatch arrived(Result<PrefixTransfer> got, unsigned seed) {
    EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message);
    if (!got.ok()) return {};
    EXPECT_TRUE(got->wait().ok());
    EXPECT_EQ(engine_->wrong(into_, got->match.blocks == 0 ? seed + 1 : seed), 0U);
    return got->match;
  }

  std::optional<Runtime> lender_, borrower_;
  std::unique_ptr<EngineBlocks> engine_;
  std::optional<PrefixCache> cache_;
  const std::vector<std::uint32_t> into_ = EngineBlocks::list(33, 8);
};

}  // namespace aqua::test
