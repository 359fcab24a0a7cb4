// SPDX-License-Identifier: Apache-2.0
// Members of a KV pool that want more blocks than are free, with a real keeper: each is served, one
// after another, and nothing lies idle with one that cannot use it.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/step.hpp"
#include "tests/base/code_of.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

constexpr std::size_t kMost = kPoolBlocks - 4;  // two never have as many at once

class WaitingForBlocks : public ::testing::Test {
 protected:
  WaitingForBlocks() {
    step_hook = [](const char* name) {
      if (name != std::string_view("accept")) return;
      ++accepts;
      accepts.notify_all();
    };
  }
  ~WaitingForBlocks() override { step_hook = nullptr; }
  // Joins as a member that has no block that it has not asked for.
  [[nodiscard]] KvPool join(const std::string& role) {
    KvPoolOptions options = small_pool(keeper_.socket(), role);
    options.reserve = 0;
    return KvPool::attach(gpu_, options).value();
  }
  // It cannot be now. The keeper has been asked for what it can be asked for when this returns: a
  // member asks for blocks before it asks for parcels, which it does when accept() is first called.
  static void allocate_in_vain(KvPool& pool, std::size_t count) {
    EXPECT_EQ(code_of(pool.allocate(count)), "resource_exhausted");
    const int before = accepts;
    (void)pool.accept(1);
    accepts.wait(before);
  }

  static inline std::atomic<int> accepts = 0;
  test::KeeperProcess keeper_;
  Runtime gpu_ = open_small_gpu();
};

TEST_F(WaitingForBlocks, WhoWantsMoreThanThePoolHasTakesNothingFromOthers) {
  KvPool one = join("prefill"), other = join("decode");
  allocate_in_vain(one, kPoolBlocks + 1);
  EXPECT_EQ(blocks_of(other, kPoolBlocks).size(), kPoolBlocks);
}

TEST_F(WaitingForBlocks, BlocksThatComeFreeInPartsGoToOneAndThenToTheOther) {
  KvPool all = join("prefill"), first = join("decode"), second = join("decode");
  const auto blocks = blocks_of(all, kPoolBlocks);
  allocate_in_vain(first, kMost);
  allocate_in_vain(second, kMost);
  for (std::size_t i = 0; i < blocks.size(); i += 4) {
    ASSERT_TRUE(all.release(BlockList(blocks).subspan(i, 4), {}).ok());
  }
  const auto firsts = blocks_of(first, kMost);
  EXPECT_EQ(code_of(second.allocate(kMost)), "resource_exhausted");
  ASSERT_TRUE(first.release(firsts, {}).ok());
  EXPECT_EQ(blocks_of(second, kMost).size(), kMost);
}

TEST_F(WaitingForBlocks, WhatAWaitingMemberReleasesGoesToTheOneThatWaitsLonger) {
  KvPool first = join("decode"), second = join("decode");
  const auto ones = blocks_of(first, kPoolBlocks / 2), others = blocks_of(second, kPoolBlocks / 2);
  allocate_in_vain(first, kMost);
  allocate_in_vain(second, kMost);
  ASSERT_TRUE(first.release(ones, {}).ok());
  ASSERT_TRUE(second.release(others, {}).ok());
  ASSERT_TRUE(first.release(blocks_of(first, kMost), {}).ok());
  EXPECT_EQ(blocks_of(second, kMost).size(), kMost);
}

TEST_F(WaitingForBlocks, WhatHasComeGoesBackWhenItIsNotWantedAnyMore) {
  KvPool one = join("prefill"), other = join("decode");
  const auto blocks = blocks_of(other, kPoolBlocks);
  allocate_in_vain(one, kMost);
  ASSERT_TRUE(other.release(blocks, {}).ok());
  while (one.status().idle < kMost) ASSERT_TRUE(one.wait(kPoolPatience));
  EXPECT_EQ(code_of(one.allocate(0)), "ok");
  EXPECT_EQ(blocks_of(other, kPoolBlocks).size(), kPoolBlocks);
}

}  // namespace
}  // namespace aqua
