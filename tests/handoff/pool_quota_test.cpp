// SPDX-License-Identifier: Apache-2.0
// Quotas of roles with a real keeper: who gets no more, who is woken when it may, and how they
// move.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "tests/base/code_of.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kQuota = 8;

class KvPoolQuota : public ::testing::Test {
 protected:
  [[nodiscard]] KvPool join(const std::string& role, std::uint32_t quota) {
    KvPoolOptions options = small_pool(keeper_.socket(), role);
    options.quota_blocks = quota;
    return KvPool::attach(gpu_, options).value();
  }
  [[nodiscard]] std::vector<RoleQuota> quotas() const {
    return list_pools(keeper_.socket()).value().at(0).quotas;
  }
  // What news there is brings no block.
  static void expect_no_more(KvPool& pool) {
    do {
      EXPECT_EQ(code_of(pool.allocate(1)), "resource_exhausted");
    } while (pool.wait(100ms));
  }

  test::KeeperProcess keeper_;
  Runtime gpu_ = open_small_gpu();
};

TEST_F(KvPoolQuota, WhatWaitsCountsForItsGiverWhoIsWokenWhenItIsTaken) {
  KvPool prefill = join("prefill", kQuota);
  KvPool decode = join("decode", 0);
  const auto blocks = blocks_of(prefill, kQuota);
  expect_no_more(prefill);
  ASSERT_TRUE(
      prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks, .tokens = 4}, "decode", {}).ok());
  while (list_pools(keeper_.socket()).value().at(0).waiting == 0) std::this_thread::yield();
  expect_no_more(prefill);
  EXPECT_EQ(quotas(), (std::vector<RoleQuota>{{"prefill", kQuota, kQuota}}));
  EXPECT_EQ(blocks_of(decode, 40).size(), 40U) << "the rest is decode's to append";
  const Parcel taken = take(decode);
  EXPECT_EQ(blocks_of(prefill, kQuota).size(), kQuota);
  ASSERT_TRUE(decode.finish(taken.number, {}).ok());
}

TEST_F(KvPoolQuota, MovesBySlabsAndWakesWhoMayHaveMore) {
  KvPoolOptions options = small_pool(keeper_.socket(), "prefill");
  // Four slabs, and so a quarter of the blocks each.
  options.shape.plane_block_bytes = (std::size_t{8} << 20) / kPoolBlocks / 4;
  options.quota_blocks = kQuota;
  KvPool prefill = KvPool::attach(gpu_, options).value();
  options.role = "decode";
  options.quota_blocks = 40;
  KvPool decode = KvPool::attach(gpu_, options).value();
  (void)blocks_of(prefill, kQuota);
  expect_no_more(prefill);
  ASSERT_TRUE(move_quota("small", "decode", "prefill", 1, keeper_.socket()).ok());
  EXPECT_EQ(blocks_of(prefill, kPoolBlocks / 4).size(), kPoolBlocks / 4);
  expect_no_more(prefill);
  EXPECT_EQ(quotas()[0].blocks, 40 - kPoolBlocks / 4);
  EXPECT_EQ(quotas()[1],
            (RoleQuota{"prefill", kQuota + kPoolBlocks / 4, kQuota + kPoolBlocks / 4}));
}

TEST_F(KvPoolQuota, WhatCannotBeIsRefusedAndChangesNothing) {
  KvPoolOptions options = small_pool(keeper_.socket(), "prefill");
  options.quota_blocks = kPoolBlocks + 1;
  EXPECT_EQ(code_of(KvPool::attach(gpu_, options)), "invalid_argument");
  const KvPool prefill = join("prefill", kQuota);
  const KvPool decode = join("decode", kQuota);
  const auto before = quotas();
  const auto move = [&](const char* from, const char* to, std::uint32_t slabs) {
    return code_of(move_quota("small", from, to, slabs, keeper_.socket()));
  };
  EXPECT_EQ(code_of(move_quota("none", "prefill", "decode", 1, keeper_.socket())), "not_found");
  EXPECT_EQ(move("reader", "decode", 1), "not_found");
  EXPECT_EQ(move("prefill", "reader", 1), "not_found");
  EXPECT_EQ(move("prefill", "decode", 0), "invalid_argument");
  EXPECT_EQ(move("prefill", "prefill", 1), "invalid_argument");
  EXPECT_EQ(move("prefill", "decode", 1), "resource_exhausted") << "a slab has all blocks";
  EXPECT_EQ(move("prefill", "decode", 1 << 16), "resource_exhausted");
  EXPECT_EQ(quotas(), before);
}

}  // namespace
}  // namespace aqua
