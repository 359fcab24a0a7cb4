// SPDX-License-Identifier: Apache-2.0
// Moves by KV as the relay sees them: who speaks after each word of an engine, and what the engines
// are told; and random histories, in which source and destination follow their machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/tools/router/pieces.hpp"
#include "tools/router/decide/relay.hpp"

namespace aqua::router {
namespace {

using migration::RouterCommand;
using migration::RouterEvent;

// Two tokens have passed, and a destination was asked for room.
struct Moving {
  Moving() {
    speaker = relay.begin();
    EXPECT_EQ(relay.heard(piece(speaker, 0)), Next::pass);
    EXPECT_EQ(relay.heard(piece(speaker, 1)), Next::pass);
    destination = relay.receive();
    EXPECT_GT(destination, speaker);
    EXPECT_EQ(relay.phase(), Phase::moving);
  }
  std::vector<RouterCommand> orders() {
    std::vector<RouterCommand> commands;
    for (const auto& order : relay.take_orders()) commands.push_back(order.what);
    return commands;
  }
  Relay relay;
  Turn speaker = kNoTurn, destination = kNoTurn;
};
using Commands = std::vector<RouterCommand>;

TEST(RelayOfKv, TheSourceSpeaksAndTheDestinationDoesNot) {
  Moving moving;
  EXPECT_EQ(moving.relay.heard(piece(moving.destination, 2)), Next::nothing);
  EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::pass);
  EXPECT_EQ(moving.relay.warm(), kNoTurn) << "one move at a time";
  EXPECT_EQ(moving.relay.receive(), kNoTurn);
  EXPECT_EQ(moving.relay.give_up(), Next::nothing) << "time is told by news()";
}

TEST(RelayOfKv, AConfirmedDestinationIsGrantedWhereTheClientIs) {
  Moving moving;
  EXPECT_EQ(moving.relay.news(RouterEvent::confirmed, 4), Next::switched);  // two are on their way
  const auto orders = moving.relay.take_orders();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].what, RouterCommand::grant);
  EXPECT_EQ(orders[0].from, 2U);
  EXPECT_EQ(orders[1].what, RouterCommand::confirm);
  EXPECT_EQ(moving.relay.phase(), Phase::speaking);
  EXPECT_EQ(moving.relay.speaker(), moving.destination);
  EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::nothing) << "late";
  EXPECT_EQ(moving.relay.heard(piece(moving.destination, 2)), Next::pass);
  EXPECT_TRUE(moving.relay.take_orders().empty()) << "once";
}

TEST(RelayOfKv, ADestinationBehindTheClientIsDenied) {
  Moving moving;
  EXPECT_EQ(moving.relay.news(RouterEvent::confirmed, 1), Next::move_failed);
  EXPECT_EQ(moving.orders(), (Commands{RouterCommand::deny, RouterCommand::resume}));
  EXPECT_EQ(moving.relay.heard(piece(moving.destination, 2)), Next::nothing);
  EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::pass) << "it goes on";
}

TEST(RelayOfKv, ASourceThatStaysOrAsksGoesOn) {
  for (const RouterEvent event : {RouterEvent::reported, RouterEvent::asked}) {
    Moving moving;
    EXPECT_EQ(moving.relay.news(event), Next::move_failed);
    EXPECT_EQ(moving.relay.phase(), Phase::speaking);
    EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::pass);
  }
}

TEST(RelayOfKv, WithoutItsDestinationTheSourceIsToldAndSays) {
  for (const bool by_death : {false, true}) {
    Moving moving;
    EXPECT_EQ(
        by_death ? moving.relay.died(moving.destination) : moving.relay.news(RouterEvent::failed),
        Next::nothing);
    EXPECT_EQ(moving.orders(), Commands{RouterCommand::abandon});
    EXPECT_EQ(moving.relay.other(), kNoTurn);
    EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::pass);
    EXPECT_EQ(moving.relay.news(RouterEvent::asked), Next::move_failed);
    EXPECT_EQ(moving.orders(), Commands{RouterCommand::resume});
    EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 3)), Next::pass);
    EXPECT_NE(moving.relay.warm(), kNoTurn) << "another move may begin";
  }
}

TEST(RelayOfKv, WhereTheSourceDiesTheDestinationIsAskedWhetherItHasAll) {
  Moving moving;
  EXPECT_EQ(moving.relay.died(moving.speaker), Next::nothing);
  EXPECT_EQ(moving.orders(), Commands{RouterCommand::inquire});
  EXPECT_EQ(moving.relay.phase(), Phase::orphaned);
  EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2)), Next::nothing) << "its last words";
  EXPECT_EQ(moving.relay.begin(), kNoTurn);
  EXPECT_EQ(moving.relay.news(RouterEvent::confirmed, 2), Next::switched);
  EXPECT_EQ(moving.orders(), Commands{RouterCommand::grant});
  EXPECT_EQ(moving.relay.heard(piece(moving.destination, 2)), Next::pass);
}

TEST(RelayOfKv, WhereNobodyHasAllItIsComputedAnew) {
  for (const RouterEvent event : {RouterEvent::failed, RouterEvent::timed_out}) {
    Moving moving;
    EXPECT_EQ(moving.relay.died(moving.speaker), Next::nothing);
    (void)moving.relay.take_orders();
    EXPECT_EQ(moving.relay.news(event), Next::want_place);
    EXPECT_EQ(moving.orders().back(), RouterCommand::recompute);
    EXPECT_EQ(moving.relay.phase(), Phase::idle);
    const Turn next = moving.relay.begin();
    EXPECT_GT(next, moving.destination);
    EXPECT_EQ(moving.relay.heard(piece(next, 2)), Next::pass);
  }
  Moving moving;
  EXPECT_EQ(moving.relay.died(moving.speaker), Next::nothing);
  EXPECT_EQ(moving.relay.died(moving.destination), Next::want_place);
}

TEST(RelayOfKv, AnAnswerThatEndsMeanwhileIsOver) {
  Moving moving;
  EXPECT_EQ(moving.relay.heard(piece(moving.speaker, 2, "length")), Next::pass);
  EXPECT_EQ(moving.relay.phase(), Phase::over);
  EXPECT_EQ(moving.relay.news(RouterEvent::confirmed, 3), Next::nothing);
}

// Engines speak where they may, and say things when they should not. The client is told each
// position once, in order; and whatever has been said, a source that asks speaks again.
class RandomKvHistory : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomKvHistory, TellsEveryPositionOnceAndInOrder) {
  std::mt19937 random(GetParam());
  Relay relay;
  std::uint64_t told = 0, moves = 0, asked_anew = 0;
  std::vector<Turn> turns;
  const auto begun = [&](Turn turn) {
    if (turn == kNoTurn) return;
    EXPECT_TRUE(turns.empty() || turn > *std::ranges::max_element(turns)) << "given once";
    turns.push_back(turn);
  };
  for (int i = 0; i < 5000; ++i) {
    const auto what = random() % 100;
    if (what < 55 && !turns.empty()) {
      const bool right = random() % 3 != 0;
      const Turn turn = right ? relay.speaker() : turns[random() % turns.size()];
      const Next next = relay.heard(piece(turn, relay.passed()));
      if (turn != relay.speaker()) {
        EXPECT_NE(next, Next::pass);
      }
      told += next == Next::pass;
    } else if (what < 65) {
      begun(relay.receive());
    } else if (what < 90) {
      const auto event = migration::kRouterEvents[random() % 7];  // but cancelled and ended
      const Next next = relay.news(event, relay.passed() + random() % 3);
      moves += next == Next::switched;
      asked_anew += next == Next::want_place;
      if (next == Next::want_place) {
        EXPECT_EQ(relay.phase(), Phase::idle);
      }
    } else if (what < 94 && !turns.empty()) {
      (void)relay.died(turns[random() % turns.size()]);
    } else {
      begun(relay.begin());
    }
    const bool speaks = relay.phase() == Phase::speaking || relay.phase() == Phase::moving;
    ASSERT_EQ(relay.speaker() != kNoTurn, speaks) << to_string(relay.phase());
    ASSERT_EQ(relay.passed(), told);
    (void)relay.take_orders();
  }
  EXPECT_GT(told, 100U);
  EXPECT_GT(moves, 10U);
  EXPECT_GT(asked_anew, 5U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomKvHistory, ::testing::Range(1U, 11U));

}  // namespace
}  // namespace aqua::router
