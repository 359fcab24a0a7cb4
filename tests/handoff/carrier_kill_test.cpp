// SPDX-License-Identifier: Apache-2.0
// Givers and takers of parcels that are opened, closed and confirmed, killed and stopped between.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "aqua/handoff/pools.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

class KilledCarrier : public ::testing::Test {
 protected:
  using Member = std::unique_ptr<test::PeerProgram>;

  [[nodiscard]] Member join(const std::string& role) {
    auto member = std::make_unique<test::PeerProgram>(keeper_.socket());
    EXPECT_EQ(member->ask("attach " + role), "ok");
    return member;
  }
  // Has it wait at a step of carrying this.
  static void stop_at(const Member& member, const std::string& step, const std::string& words) {
    ASSERT_EQ(member->ask("stop-at " + step), "ok");
    member->post(words);
    const std::multiset<std::string> said{member->answer(), member->answer()};
    ASSERT_EQ(said, (std::multiset<std::string>{"ok", "at " + step}));
  }
  // The pool's row, once it has one member.
  [[nodiscard]] PoolStatus row_of_one() const {
    for (;;) {
      const auto rows = list_pools(keeper_.socket()).value();
      if (rows.size() == 1 && rows[0].members == 1) return rows[0];
      std::this_thread::yield();
    }
  }

  test::KeeperProcess keeper_;
};

class KilledAtCarrierStep : public KilledCarrier,
                            public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Giver, KilledAtCarrierStep, ::testing::Values("open", "close"),
                         [](const auto& step) { return step.param; });

TEST_P(KilledAtCarrierStep, AGiverLeavesNothingAndAnotherBeginsAnew) {
  const Member decode = join("decode");
  const Member prefill = join("prefill");
  stop_at(prefill, GetParam(), "carry a 1 3 7");
  prefill->kill();
  const PoolStatus row = row_of_one();
  EXPECT_EQ(row.waiting + row.offered + row.quarantined + row.orphaned, 0U);
  EXPECT_EQ(row.free + row.owned, row.blocks);
  const Member next = join("prefill");
  ASSERT_EQ(next->ask("carry a 2 3 8"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("check"), "ok");
}

TEST_P(KilledAtCarrierStep, AGiverThatWasStoppedAndReplacedIsHeardNoMore) {
  const Member decode = join("decode");
  const Member stopped = join("prefill");
  const Member next = join("prefill");
  stop_at(stopped, GetParam(), "carry a 1 3 7");
  ASSERT_EQ(next->ask("carry a 2 3 8"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  stopped->post("go on");
  const std::string told = stopped->ask("delivered");
  EXPECT_TRUE(told == "refused aborted" || told == "superseded" || told == "refused not_found")
      << told;
  EXPECT_EQ(stopped->ask("carry b 1 3 9"), "ok") << "it has its blocks again";
  EXPECT_EQ(decode->ask("take 1"), "b") << "and nothing of a came";
}

TEST_F(KilledCarrier, WhatItsTakerConfirmedAndDidNotFinishIsTheNextOnes) {
  const Member prefill = join("prefill");
  const Member first = join("decode");
  ASSERT_EQ(prefill->ask("carry a 1 3 7"), "ok");
  ASSERT_EQ(first->ask("take 1"), "a");
  ASSERT_EQ(first->ask("append"), "ok");
  ASSERT_EQ(first->ask("confirm"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  first->kill();
  const Member second = join("decode");
  EXPECT_EQ(second->ask("take 1"), "a") << "with the bytes that it was closed with";
}

TEST_F(KilledCarrier, AKeepersDeathLeavesNoGiverWithoutAnAnswer) {
  const Member prefill = join("prefill");
  ASSERT_EQ(prefill->ask("stop-at close"), "ok");
  prefill->post("carry a 1 3 7");
  const std::multiset<std::string> said{prefill->answer(), prefill->answer()};
  ASSERT_EQ(said, (std::multiset<std::string>{"ok", "at close"}));
  keeper_.kill();
  prefill->post("go on");
  const std::string told = prefill->ask("delivered");
  EXPECT_TRUE(told == "in doubt unavailable" || told == "refused unavailable") << told;
}

}  // namespace
}  // namespace aqua
