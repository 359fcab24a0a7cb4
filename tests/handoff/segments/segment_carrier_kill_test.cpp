// SPDX-License-Identifier: Apache-2.0
// Givers and takers of parcels over segments, and keepers, that are killed or stopped: at each
// step, and at random. Every byte is compared by whoever takes it.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segments.hpp"
#include "tests/handoff/random_deaths.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

class KilledSegmentCarrier : public ::testing::Test {
 protected:
  using Member = std::unique_ptr<test::PeerProgram>;

  [[nodiscard]] Member start() const {
    return std::make_unique<test::PeerProgram>(keeper_.socket(), AQUA_CARRIER_PEER);
  }
  [[nodiscard]] Member prefill() const {
    Member member = start();
    EXPECT_EQ(member->ask("attach prefill 0"), "ok");
    return member;
  }
  [[nodiscard]] Member decode(int room = 4) const {
    Member member = start();
    EXPECT_EQ(member->ask("attach decode " + std::to_string(room)), "ok");
    return member;
  }
  // Has it wait at a step of what it is told to do.
  static void stop_at(const Member& member, const std::string& step, const std::string& words) {
    ASSERT_EQ(member->ask("stop-at " + step), "ok");
    member->post(words);
    std::multiset<std::string> said{member->answer()}, wanted{"at " + step};
    if (step == "commit" || step == "close") {  // the call itself does not wait
      said.insert(member->answer());
      wanted.insert("ok");
    }
    ASSERT_EQ(said, wanted);
  }
  [[nodiscard]] std::vector<SegmentStatus> kept() const {
    return list_segments(keeper_.socket()).value();
  }
  [[nodiscard]] std::vector<PoolStatus> pools() const {
    return list_pools(keeper_.socket()).value();
  }
  void until_members(std::uint32_t members) const {
    while (pools().empty() ? members != 0 : pools()[0].members != members)
      std::this_thread::yield();
  }
  // Once the keeper has heard of what has ended.
  void until_left(std::ptrdiff_t descriptors) {
    while (!pools().empty() || !kept().empty()) std::this_thread::yield();
    while (test::kept_descriptors(keeper_) != descriptors) std::this_thread::yield();
  }

  mutable test::KeeperProcess keeper_;
};

TEST_F(KilledSegmentCarrier, WhatItsGiverHasKeptOutlivesIt) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Member taker = decode();
    const Member giver = prefill();
    ASSERT_EQ(giver->ask("carry a 1 6 77"), "ok");
    ASSERT_EQ(giver->ask("kept"), "ok");
    ASSERT_EQ(giver->ask("begin b 1"), "ok") << "which goes with it";
    giver->kill();
    until_members(1);
    EXPECT_EQ(taker->ask("cut-off"), "b.1");
    EXPECT_EQ(taker->ask("take 1"), "a");
    EXPECT_EQ(taker->ask("finish"), "ok");
    EXPECT_EQ(taker->ask("leave"), "ok");
  }
  until_left(before);
}

class GiverOverSegmentsKilledAtStep : public KilledSegmentCarrier,
                                      public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, GiverOverSegmentsKilledAtStep,
                         ::testing::Values("open", "commit", "close"),
                         [](const auto& step) { return step.param; });

TEST_P(GiverOverSegmentsKilledAtStep, LeavesNothingAndAnotherBeginsAnewInItsRoom) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Member taker = decode(1);
    const Member first = prefill();
    stop_at(first, GetParam(), "carry a 1 6 77");
    first->kill();
    until_members(1);
    while (!kept().empty()) std::this_thread::yield();  // what was committed has gone with it
    if (GetParam() != "open") {                         // of which the keeper had not heard
      EXPECT_EQ(taker->ask("cut-off"), "a.1");
    }
    const Member second = prefill();
    ASSERT_EQ(second->ask("carry a 2 6 88"), "ok");
    EXPECT_EQ(taker->ask("take 1"), "a");
    EXPECT_EQ(taker->ask("finish"), "ok");
    EXPECT_EQ(second->ask("delivered"), "confirmed");
    EXPECT_EQ(second->ask("leave"), "ok");
    EXPECT_EQ(taker->ask("leave"), "ok");
  }
  until_left(before);
}

TEST_P(GiverOverSegmentsKilledAtStep, ThatWasOnlyStoppedAndReplacedIsHeardNoMore) {
  const Member taker = decode();
  const Member stopped = prefill();
  const Member next = prefill();
  stop_at(stopped, GetParam(), "carry a 1 6 77");
  ASSERT_EQ(next->ask("carry a 2 6 88"), "ok");
  ASSERT_EQ(next->ask("kept"), "ok");
  EXPECT_EQ(taker->ask("take 1"), "a");
  stopped->post("go on");
  if (GetParam() == "open") {  // it has waited for room, and is told that there is none for it
    EXPECT_TRUE(stopped->answer().starts_with("not_found"));
  }
  const std::string told = stopped->ask("delivered");
  EXPECT_TRUE(told == "refused aborted" || told == "superseded" || told == "refused not_found")
      << told;
  EXPECT_EQ(taker->ask("check"), "ok");
  EXPECT_EQ(taker->ask("finish"), "ok");
  EXPECT_EQ(stopped->ask("carry b 1 6 99"), "ok") << "and can go on with others";
  EXPECT_EQ(taker->ask("take 1"), "b") << "nothing of a came";
}

class TakerOverSegmentsKilledAtStep : public KilledSegmentCarrier,
                                      public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, TakerOverSegmentsKilledAtStep,
                         ::testing::Values("accept", "open", "map"),
                         [](const auto& step) { return step.param; });

TEST_P(TakerOverSegmentsKilledAtStep, LeavesItsParcelsToTheNext) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Member first = decode();
    const Member giver = prefill();
    ASSERT_EQ(giver->ask("carry a 1 6 77"), "ok");
    ASSERT_EQ(giver->ask("kept"), "ok");
    stop_at(first, GetParam(), "take 1");
    first->kill();
    const Member second = decode();
    EXPECT_EQ(second->ask("take 1"), "a");
    EXPECT_EQ(second->ask("confirm"), "ok");
    EXPECT_EQ(giver->ask("delivered"), "confirmed");
    second->kill();  // it has all of it, and has not finished
    const Member third = decode();
    EXPECT_EQ(third->ask("take 1"), "a");
    EXPECT_EQ(third->ask("finish"), "ok");
    EXPECT_EQ(third->ask("leave"), "ok");
    EXPECT_EQ(giver->ask("leave"), "ok");
  }
  until_left(before);
}

// It may be copying: its bytes do not change, whoever gives in the meantime.
TEST_F(KilledSegmentCarrier, AStoppedTakersBytesStayUntilItHasEnded) {
  const Member giver = prefill();
  const Member stopped = decode(2);
  ASSERT_EQ(giver->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(stopped->ask("take 1"), "a");
  ::kill(stopped->pid(), SIGSTOP);
  const Member other = decode(8);
  ASSERT_EQ(giver->ask("carry a 9 6 78"), "ok") << "which replaces it";
  ASSERT_EQ(giver->ask("kept"), "ok");
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(giver->ask("carry r" + std::to_string(i) + " 1 6 " + std::to_string(80 + i)), "ok");
  }
  ::kill(stopped->pid(), SIGCONT);
  EXPECT_EQ(stopped->ask("check"), "ok");
  EXPECT_EQ(stopped->ask("superseded"), "1");
  EXPECT_EQ(stopped->ask("finish"), "ok");
}

TEST_F(KilledSegmentCarrier, NoCallWaitsForAStoppedKeeper) {
  const Member giver = prefill();
  const Member taker = decode();
  ASSERT_EQ(giver->ask("begin a 1"), "ok");
  ASSERT_EQ(giver->ask("recall"), "ok");
  ASSERT_EQ(giver->ask("delivered"), "recalled");
  ASSERT_EQ(giver->ask("carry b 1 6 77"), "ok");
  ASSERT_EQ(taker->ask("take 1"), "b");
  keeper_.process().stop();
  EXPECT_EQ(giver->ask("recall"), "ok");
  EXPECT_EQ(taker->ask("confirm"), "ok");
  EXPECT_EQ(taker->ask("check"), "ok");
  EXPECT_EQ(taker->ask("finish"), "ok");
  keeper_.process().signal(SIGCONT);
  EXPECT_EQ(giver->ask("delivered"), "confirmed") << "it was taken";
}

class StoppedGiverAtStep : public KilledSegmentCarrier,
                           public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, StoppedGiverAtStep, ::testing::Values("commit", "close"),
                         [](const auto& step) { return step.param; });

// It is alive: its memory stays its own, and it may go on at any moment. What it was promised is
// another's by then, and it is told so.
TEST_P(StoppedGiverAtStep, LosesItsRoomToAnotherWhenItsParcelIsCancelledAndIsRefusedLater) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Member taker = decode(1);
    const Member stopped = prefill();
    stop_at(stopped, GetParam(), "carry a 1 6 77");
    ::kill(stopped->pid(), SIGSTOP);
    const Member other = prefill();
    ASSERT_EQ(other->ask("reserve b 1"), "reserved") << "there is no room for it";
    other->post("go-on-with 6 88");
    ASSERT_TRUE(cancel_parcel("carried", "a", keeper_.socket(), 1).ok());
    EXPECT_EQ(other->answer(), "ok");
    EXPECT_EQ(taker->ask("take 1"), "b");
    ::kill(stopped->pid(), SIGCONT);
    stopped->post("go on");
    const std::string told = stopped->ask("delivered");  // or what became of its close
    EXPECT_TRUE(told == "cancelled" || told == "refused not_found") << told;
    EXPECT_EQ(cancel_parcel("carried", "a", keeper_.socket(), 1).error().code, Code::not_found);
    EXPECT_EQ(taker->ask("check"), "ok");
    EXPECT_EQ(taker->ask("finish"), "ok");
    for (const Member* each : {&taker, &stopped, &other}) EXPECT_EQ((*each)->ask("leave"), "ok");
  }
  until_left(before);
}

class KeeperOfCarriersKilledAtStep : public KilledSegmentCarrier,
                                     public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, KeeperOfCarriersKilledAtStep,
                         ::testing::Values("open", "commit", "close"),
                         [](const auto& step) { return step.param; });

TEST_P(KeeperOfCarriersKilledAtStep, EveryGiverIsToldAndTheNextKeeperServes) {
  const Member giver = prefill();
  const Member taker = decode();
  ASSERT_EQ(giver->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(taker->ask("take 1"), "a");
  const Member victim = prefill();
  stop_at(victim, GetParam(), "carry b 1 6 88");
  keeper_.kill();
  victim->post("go on");
  if (GetParam() == "open") {
    EXPECT_TRUE(victim->answer().starts_with("no keeper"));
  }
  const std::string told = victim->ask("delivered");
  EXPECT_TRUE(told == "in doubt unavailable" || told == "refused unavailable") << told;
  EXPECT_EQ(giver->ask("delivered"), "in doubt unavailable");
  EXPECT_EQ(taker->ask("check"), "ok") << "what is mapped stays";
  keeper_.start();
  ASSERT_EQ(taker->ask("attach decode 4"), "ok");
  ASSERT_EQ(victim->ask("attach prefill 0"), "ok");
  ASSERT_EQ(victim->ask("carry b 1 6 99"), "ok");
  EXPECT_EQ(taker->ask("take 1"), "b");
}

// Givers, takers and the keeper die at random moments of whatever they do: no byte is wrong, which
// whoever takes it would see, and at the end the keeper has nothing left.
TEST_F(KilledSegmentCarrier, AtRandomMomentsNoByteIsWrongAndNothingIsLeft) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  int served = 0;
  test::die_at_random(
      keeper_, [&](bool gives) { return gives ? prefill() : decode(2); }, served);
  if (HasFatalFailure()) return;
  until_members(0);
  if (!pools().empty()) (void)remove_pool("carried", keeper_.socket());  // nobody has taken it
  until_left(before);
  RecordProperty("served", served);
  EXPECT_GT(served, test::random_rounds() / 4);
}

}  // namespace
}  // namespace aqua
