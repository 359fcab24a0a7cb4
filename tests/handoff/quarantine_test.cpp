// SPDX-License-Identifier: Apache-2.0
// Blocks of a process that is dead, in memory that its work on a device may still write. Any
// descriptor that is no file stands for such memory: the keeper maps none.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "base/unique_fd.hpp"
#include "keeper_client/pool_client.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

constexpr std::uint64_t kBytes = 2 << 20;

class Quarantine : public ::testing::Test {
 protected:
  [[nodiscard]] PoolClient join(const std::string& role) const {
    PoolClient client = PoolClient::connect(keeper_.socket()).value();
    const auto joined = client.call(pool_wire::JoinPool{.pool = "p",
                                                        .role = role,
                                                        .device = {},
                                                        .shape = "s",
                                                        .blocks = 8,
                                                        .block_tokens = 4,
                                                        .bytes = kBytes});
    EXPECT_TRUE(joined.ok());
    if (joined->reply.make) {
      const UniqueFd memory(::eventfd(0, EFD_CLOEXEC));
      const std::vector<int> fds{memory.get()};
      EXPECT_TRUE(client.call(pool_wire::AddSlabs{{kBytes}}, fds).ok());
    }
    return client;
  }
  // A process of its own has joined, asked for all this, and died without leaving.
  void die_after(const std::string& role, const std::vector<pool_wire::PoolRequest>& asked) const {
    const pid_t child = ::fork();
    if (child == 0) {
      PoolClient client = join(role);
      for (const auto& request : asked) {
        if (!client.call(request).ok()) ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  // The row of the pool, once the keeper has seen that death.
  [[nodiscard]] PoolStatus row_of_one_member() const {
    for (;;) {
      const auto rows = list_pools(keeper_.socket()).value();
      if (rows.size() == 1 && rows[0].members == 1) return rows[0];
      std::this_thread::yield();
    }
  }

  test::KeeperProcess keeper_;
};

TEST_F(Quarantine, WhatADeadMemberHadIsNobodysBeforeItIsReleased) {
  PoolClient member = join("prefill");
  die_after("decode", {pool_wire::Grant{5}});
  EXPECT_EQ(row_of_one_member().quarantined, 5U);
  EXPECT_EQ(member.call(pool_wire::Grant{9})->reply.blocks.size(), 3U);
  EXPECT_EQ(release_quarantined("q", keeper_.socket()).error().code, Code::not_found);
  ASSERT_TRUE(release_quarantined("p", keeper_.socket()).ok());
  EXPECT_EQ(row_of_one_member().quarantined, 0U);
  EXPECT_EQ(member.call(pool_wire::Grant{9})->reply.blocks.size(), 5U);
}

TEST_F(Quarantine, WhatADeadTakerHadTakenComesBackWithItsTailInDoubt) {
  PoolClient member = join("decode");
  const auto own = member.call(pool_wire::Grant{3})->reply.blocks;
  ASSERT_TRUE(
      member.call(pool_wire::Offer{"decode", {.id = "r", .turn = 1, .blocks = own, .tokens = 6}})
          .ok());
  die_after("decode", {pool_wire::Accept{1}, pool_wire::Grant{1}});
  EXPECT_EQ(row_of_one_member().quarantined, 1U) << "what it appended";
  const auto again = member.call(pool_wire::Accept{1})->reply.parcels;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].blocks, own);
  EXPECT_TRUE(again[0].tail_in_doubt);
  EXPECT_EQ(again[0].turn, 3U);
  ASSERT_TRUE(member.call(pool_wire::Finish{again[0].number}).ok());
  EXPECT_EQ(row_of_one_member().quarantined, 3U) << "the second block and the third";
}

TEST_F(Quarantine, WhoLeavesHasLeftNoWorkBehind) {
  const PoolClient member = join("prefill");
  die_after("decode", {pool_wire::Grant{5}, pool_wire::Leave{}});
  const PoolStatus row = row_of_one_member();
  EXPECT_EQ(row.quarantined, 0U);
  EXPECT_EQ(row.free, 8U);
}

}  // namespace
}  // namespace aqua
