// SPDX-License-Identifier: Apache-2.0
// Members of KV pools, and keepers, that are killed: at each step, and at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "tests/handoff/answer_of_any.hpp"
#include "tests/handoff/random_deaths.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

class KilledPool : public ::testing::Test {
 protected:
  using Member = std::unique_ptr<test::PeerProgram>;

  [[nodiscard]] Member join(const std::string& role) const {
    auto member = std::make_unique<test::PeerProgram>(keeper_.socket());
    EXPECT_EQ(member->ask("attach " + role), "ok");
    return member;
  }
  [[nodiscard]] std::vector<PoolStatus> pools() const {
    return list_pools(keeper_.socket()).value();
  }
  // The row of the pool, once it is as it should be.
  template <typename Wanted>
  void until(const Wanted& wanted) const {
    for (;;) {
      const auto rows = pools();
      if (rows.size() == 1 && wanted(rows[0])) return;
      std::this_thread::yield();
    }
  }
  void until_empty() const {
    while (!pools().empty()) std::this_thread::yield();
  }

  test::KeeperProcess keeper_;
};

TEST_F(KilledPool, AGiversParcelsOutliveIt) {
  const Member prefill = join("prefill");
  ASSERT_EQ(prefill->ask("hand a 1 3 7"), "ok");
  until([](const PoolStatus& row) { return row.offered == 3; });
  prefill->kill();
  const Member decode = join("decode");
  EXPECT_EQ(decode->ask("take 1"), "a");
  until([](const PoolStatus& row) { return row.free + 4 >= row.blocks - 3; });
}

TEST_F(KilledPool, ASuccessorGoesOnWithWhatATakerHadNotFinished) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Member prefill = join("prefill");
    const Member first = join("decode");
    for (const char* const id : {"a", "b", "c"}) {
      ASSERT_EQ(prefill->ask(std::string("hand ") + id + " 1 2 7"), "ok");
    }
    ASSERT_EQ(first->ask("take 2"), "a b");
    ASSERT_EQ(first->ask("append"), "ok");
    first->kill();
    const Member second = join("decode");
    EXPECT_EQ(second->ask("take 3"), "a b c") << "byte for byte, in the old order";
    EXPECT_EQ(second->ask("finish"), "ok");
    EXPECT_EQ(second->ask("leave"), "ok");
    EXPECT_EQ(prefill->ask("leave"), "ok");
  }
  until_empty();
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

// Its connection closes before it has ended, and what it has is nobody else's until then.
TEST_F(KilledPool, WhoHasNotEndedKeepsItsBlocks) {
  const Member prefill = join("prefill");
  const Member decode = join("decode");
  ASSERT_EQ(prefill->ask("hand a 1 2 7"), "ok");
  ASSERT_EQ(decode->ask("take 1"), "a");
  ASSERT_EQ(decode->ask("hang-up"), "ok");
  until([](const PoolStatus& row) { return row.orphaned >= 2; });
  const Member successor = join("decode");
  ASSERT_EQ(successor->ask("stop-at accept"), "ok");
  successor->post("take 1");
  ASSERT_EQ(successor->answer(), "at accept");
  successor->post("go on");  // asks, gets nothing, and has to be woken
  ASSERT_EQ(decode->ask("check"), "ok");
  EXPECT_EQ(pools()[0].waiting, 0U);
  decode->kill();
  EXPECT_EQ(successor->answer(), "a");
  until([](const PoolStatus& row) { return row.orphaned == 0; });
}

using Step = std::string;
class KilledAtPoolStep : public KilledPool, public ::testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(Attach, KilledAtPoolStep, ::testing::Values("join", "make", "map"),
                         [](const auto& step) { return step.param; });

TEST_P(KilledAtPoolStep, TheFirstMemberLeavesNothingAndAnotherMakesThePool) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    test::PeerProgram first(keeper_.socket());
    ASSERT_EQ(first.ask("stop-at " + GetParam()), "ok");
    ASSERT_EQ(first.ask("attach prefill"), "at " + GetParam());
    // Meanwhile another one waits for the pool, or makes it.
    test::PeerProgram second(keeper_.socket());
    second.post("attach decode");
    first.kill();
    EXPECT_EQ(second.answer(), "ok");
    const Member third = join("prefill");
    EXPECT_EQ(third->ask("hand a 1 2 7"), "ok");
    EXPECT_EQ(second.ask("take 1"), "a");
    EXPECT_EQ(second.ask("finish"), "ok");
    EXPECT_EQ(second.ask("leave"), "ok");
    EXPECT_EQ(third->ask("leave"), "ok");
  }
  until_empty();
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

TEST_P(KilledAtPoolStep, WhoseKeeperIsKilledThereFailsAndAttachesToTheNext) {
  test::PeerProgram first(keeper_.socket());
  ASSERT_EQ(first.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(first.ask("attach prefill"), "at " + GetParam());
  keeper_.kill();
  first.post("go on");
  EXPECT_EQ(first.answer().substr(0, 11), "unavailable");
  keeper_.start();
  EXPECT_TRUE(pools().empty());
  ASSERT_EQ(first.ask("attach prefill"), "ok");
  const Member decode = join("decode");
  ASSERT_EQ(first.ask("hand a 1 2 7"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
}

TEST_F(KilledPool, BeforeItTellsTheKeeperAGiverHasHandedNothingOver) {
  const Member prefill = join("prefill");
  const Member decode = join("decode");
  ASSERT_EQ(prefill->ask("stop-at hand_over"), "ok");
  prefill->post("hand a 1 3 7");
  std::multiset<std::string> said{prefill->answer(), prefill->answer()};
  EXPECT_EQ(said, (std::multiset<std::string>{"ok", "at hand_over"}));
  prefill->kill();
  until([](const PoolStatus& row) { return row.members == 1; });
  EXPECT_EQ(pools()[0].waiting + pools()[0].offered, 0U);
  const Member next = join("prefill");
  ASSERT_EQ(next->ask("hand a 1 3 8"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
}

TEST_F(KilledPool, ATakerThatDiesBeforeItAcceptsLeavesItToTheNext) {
  const Member prefill = join("prefill");
  const Member first = join("decode");
  ASSERT_EQ(first->ask("stop-at accept"), "ok");
  first->post("take 1");
  EXPECT_EQ(first->answer(), "at accept");
  ASSERT_EQ(prefill->ask("hand a 1 2 7"), "ok");
  first->kill();
  const Member next = join("decode");
  EXPECT_EQ(next->ask("take 1"), "a");
}

TEST_F(KilledPool, AKeeperTakesItsPoolsWithItAndMembersAttachAnew) {
  const Member prefill = join("prefill");
  const Member decode = join("decode");
  ASSERT_EQ(prefill->ask("hand a 1 2 7"), "ok");
  ASSERT_EQ(decode->ask("take 1"), "a");
  ASSERT_EQ(prefill->ask("stop-at hand_over"), "ok");
  prefill->post("hand b 1 1 7");
  std::multiset<std::string> said{prefill->answer(), prefill->answer()};
  EXPECT_EQ(said, (std::multiset<std::string>{"ok", "at hand_over"}));
  keeper_.kill();
  prefill->post("go on");
  EXPECT_EQ(prefill->ask("undelivered").substr(0, 13), "b unavailable");
  EXPECT_EQ(prefill->ask("hand c 1 1 7").substr(0, 11), "unavailable");
  EXPECT_EQ(decode->ask("check"), "ok") << "what it has stays";
  keeper_.start();
  EXPECT_TRUE(pools().empty());
  EXPECT_EQ(prefill->ask("attach prefill"), "ok");
  EXPECT_EQ(decode->ask("check"), "ok");
  EXPECT_EQ(decode->ask("attach decode"), "ok");
  ASSERT_EQ(prefill->ask("hand d 1 2 9"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "d");
}

// Takers die at random moments. Whatever was handed over is served, by one or another.
TEST_F(KilledPool, NothingThatWasHandedOverIsLostWithItsTakers) {
  constexpr std::size_t kRequests = 60;
  std::mt19937_64 random(std::random_device{}());
  std::set<std::string> given, served;
  std::vector<Member> members(2);
  const auto kill_taker = [&] {
    members[1]->kill();
    for (std::string said; (said = members[1]->answer()) != "dead";) {  // its last words
      ASSERT_TRUE(said.starts_with("served ")) << said;
      served.insert(said.substr(7));
    }
  };
  const auto start_taker = [&] {
    members[1] = join("decode");
    members[1]->post("serve 1000");
  };
  members[0] = join("prefill");
  members[0]->post("give " + std::to_string(kRequests));
  start_taker();
  std::uint64_t left = 3;  // answers, before it dies
  for (std::string said; said != "ok";) {
    said = test::answer_of_any(members);
    if (said.starts_with("gave ")) given.insert(said.substr(5));
    if (said == "ok" || said.starts_with("gave ")) continue;
    ASSERT_TRUE(said.starts_with("served ")) << said;
    served.insert(said.substr(7));
    if (left-- != 0) continue;
    kill_taker();
    start_taker();
    left = random() % 6;
  }
  kill_taker();
  ASSERT_EQ(given.size(), kRequests);
  const Member last = join("decode");
  while (served != given) {
    const std::string id = last->ask("take 1");
    ASSERT_TRUE(given.contains(id)) << id;
    served.insert(id);
    ASSERT_EQ(last->ask("finish"), "ok");
  }
}

// Givers, takers and the keeper die at random moments of whatever they do: no byte is wrong, which
// it would be if a block had two owners, and at the end the keeper has nothing left.
TEST_F(KilledPool, AtRandomMomentsNoBlockHasTwoOwnersAndNothingIsLeft) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  int served = 0;
  test::die_at_random(
      keeper_, [&](bool gives) { return join(gives ? "prefill" : "decode"); }, served);
  if (HasFatalFailure()) return;
  for (;;) {
    const auto rows = pools();
    if (rows.empty()) break;
    // Parcels that nobody has taken may be left in it.
    if (rows[0].members == 0) (void)remove_pool("small", keeper_.socket());
    std::this_thread::yield();
  }
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
  RecordProperty("served", served);
  EXPECT_GT(served, test::random_rounds() / 4);
}

}  // namespace
}  // namespace aqua
