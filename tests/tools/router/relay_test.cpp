// SPDX-License-Identifier: Apache-2.0
// Which attempt speaks: the table of relay.hpp by cell, and random histories against a client that
// keeps what it was told.
#include "tools/router/decide/relay.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/tools/router/pieces.hpp"

namespace aqua::router {
namespace {

// A relay in each phase, two tokens told, and the turns that it has given out.
struct Scene {
  explicit Scene(Phase phase) {
    if (phase == Phase::idle) return;
    speaker = relay.begin();
    EXPECT_EQ(relay.heard(piece(speaker, 0)), Next::pass);
    EXPECT_EQ(relay.heard(piece(speaker, 1)), Next::pass);
    if (phase == Phase::over) relay.end();
    if (phase == Phase::warming || phase == Phase::holding) other = relay.warm();
    if (phase == Phase::holding) {
      warm_up = other;
      other = relay.warmed(other);
    }
    EXPECT_EQ(relay.phase(), phase) << to_string(phase);
  }
  Relay relay;
  Turn speaker = kNoTurn, other = kNoTurn, warm_up = kNoTurn;
};

constexpr Phase kPhases[] = {Phase::idle, Phase::speaking, Phase::warming, Phase::holding,
                             Phase::over};

TEST(Relay, BeginsOnlyWhereNobodySpeaks) {
  for (const Phase phase : kPhases) {
    Scene scene(phase);
    const Turn turn = scene.relay.begin();
    EXPECT_EQ(turn != kNoTurn, phase == Phase::idle) << to_string(phase);
    if (phase != Phase::idle) {
      EXPECT_EQ(scene.relay.phase(), phase);
    }
  }
}

TEST(Relay, WarmsUpOnlyBesideASpeaker) {
  for (const Phase phase : kPhases) {
    Scene scene(phase);
    const Turn turn = scene.relay.warm();
    EXPECT_EQ(turn != kNoTurn, phase == Phase::speaking) << to_string(phase);
    if (turn != kNoTurn) {
      EXPECT_GT(turn, scene.speaker);
      EXPECT_EQ(scene.relay.phase(), Phase::warming);
    }
  }
}

TEST(Relay, AnotherWarmUpFollowsOneThatHasEndedAndNoOther) {
  for (const Phase phase : kPhases) {
    Scene scene(phase);
    EXPECT_EQ(scene.relay.warm_again(scene.speaker), kNoTurn);
    EXPECT_EQ(scene.relay.warm_again(99), kNoTurn);
    const Turn again = scene.relay.warm_again(scene.other);
    EXPECT_EQ(again != kNoTurn, phase == Phase::warming) << to_string(phase);
    EXPECT_EQ(scene.relay.phase(), phase);
    if (again == kNoTurn) continue;
    EXPECT_GT(again, scene.other);
    EXPECT_EQ(scene.relay.warmed(scene.other), kNoTurn) << "it is over";
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::pass) << "the source goes on";
    EXPECT_NE(scene.relay.warmed(again), kNoTurn);
  }
}

TEST(Relay, AWarmUpsEndIsHeardOnceAndOfItAlone) {
  for (const Phase phase : kPhases) {
    Scene scene(phase);
    EXPECT_EQ(scene.relay.warmed(scene.speaker), kNoTurn);
    EXPECT_EQ(scene.relay.warmed(99), kNoTurn);
    const Turn heir = scene.relay.warmed(scene.other);
    EXPECT_EQ(heir != kNoTurn, phase == Phase::warming) << to_string(phase);
    if (heir != kNoTurn) {
      EXPECT_GT(heir, scene.other);
    }
  }
}

TEST(Relay, TheSpeakersPiecesPassButAreHeldForAnHeir) {
  for (const Phase phase : {Phase::speaking, Phase::warming}) {
    Scene scene(phase);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::pass);
    EXPECT_EQ(scene.relay.passed(), 3u);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 3, "stop")), Next::pass);
    EXPECT_EQ(scene.relay.phase(), Phase::over);
  }
  Scene scene(Phase::holding);
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::nothing);
  EXPECT_EQ(scene.relay.passed(), 2u) << "nobody was told";
}

TEST(Relay, ThePiecesOfWhoIsNotAskedAreDropped) {
  for (const Phase phase : kPhases) {
    Scene scene(phase);
    const std::uint64_t passed = scene.relay.passed();
    EXPECT_EQ(scene.relay.heard(piece(99, passed)), Next::nothing) << to_string(phase);
    EXPECT_EQ(scene.relay.heard(piece(kNoTurn, passed)), Next::nothing);
    if (phase == Phase::warming) {
      EXPECT_EQ(scene.relay.heard(piece(scene.other, 2)), Next::nothing);
    }
    if (phase == Phase::holding) {
      EXPECT_EQ(scene.relay.heard(piece(scene.warm_up, 2)), Next::nothing);
    }
    EXPECT_EQ(scene.relay.passed(), passed);
    EXPECT_EQ(scene.relay.phase(), phase);
  }
}

TEST(Relay, TheHeirTakesOverWhereTheClientIsAndWhatWasHeldIsForgotten) {
  Scene scene(Phase::holding);
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::nothing);
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 3)), Next::nothing);
  EXPECT_EQ(scene.relay.heard(piece(scene.other, 2)), Next::take_over);
  EXPECT_EQ(scene.relay.phase(), Phase::speaking);
  EXPECT_EQ(scene.relay.speaker(), scene.other);
  EXPECT_EQ(scene.relay.passed(), 3u);
  EXPECT_TRUE(scene.relay.take_held().empty());
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 3)), Next::nothing) << "nobody speaks twice";
}

TEST(Relay, WithoutItsHeirTheSourceGoesOnAsIfNothingHadBeen) {
  for (const bool by_death : {false, true}) {
    Scene scene(Phase::holding);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::nothing);
    EXPECT_EQ(by_death ? scene.relay.died(scene.other) : scene.relay.give_up(), Next::release);
    const auto held = scene.relay.take_held();
    ASSERT_EQ(held.size(), 1u);
    EXPECT_EQ(held.front().position, 2u);
    EXPECT_EQ(scene.relay.passed(), 3u);
    EXPECT_EQ(scene.relay.heard(piece(scene.other, 3)), Next::nothing) << "a forged turn";
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 3)), Next::pass);
  }
}

TEST(Relay, WithoutAWarmUpTheSourceGoesOn) {
  Scene scene(Phase::warming);
  EXPECT_EQ(scene.relay.died(scene.other), Next::move_failed);
  EXPECT_EQ(scene.relay.phase(), Phase::speaking);
  EXPECT_EQ(scene.relay.warmed(scene.other), kNoTurn) << "too late";
}

TEST(Relay, AnAnswerThatEndsWhileHeldIsToldAndTheMoveIsOff) {
  Scene scene(Phase::holding);
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2, "length")), Next::release);
  EXPECT_EQ(scene.relay.phase(), Phase::over);
  EXPECT_EQ(scene.relay.take_held().size(), 1u);
  EXPECT_EQ(scene.relay.passed(), 3u);
}

TEST(Relay, WhereTheSpeakerDiesAnotherPlaceIsWanted) {
  for (const Phase phase : {Phase::speaking, Phase::warming, Phase::holding}) {
    Scene scene(phase);
    if (phase == Phase::holding) {
      EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::nothing);
    }
    EXPECT_EQ(scene.relay.died(scene.speaker), Next::want_place);
    EXPECT_EQ(scene.relay.phase(), Phase::idle);
    EXPECT_EQ(scene.relay.passed(), 2u) << "what was held is said again";
    EXPECT_TRUE(scene.relay.take_held().empty());
    EXPECT_EQ(scene.relay.died(scene.speaker), Next::nothing) << "once";
    const Turn next = scene.relay.begin();
    EXPECT_GT(next, scene.other);
    EXPECT_EQ(scene.relay.heard(piece(next, 2)), Next::pass);
  }
}

TEST(Relay, AnAttemptOutOfOrderIsBroken) {
  for (const Phase phase : {Phase::speaking, Phase::warming, Phase::holding}) {
    Scene scene(phase);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 1)), Next::broken) << to_string(phase);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 3)), Next::broken) << to_string(phase);
    EXPECT_EQ(scene.relay.passed(), 2u);
  }
  Scene scene(Phase::holding);
  EXPECT_EQ(scene.relay.heard(piece(scene.other, 1)), Next::broken);
}

TEST(Relay, APieceOfSeveralTokensPassesWholeOrNotAtAll) {
  for (const Phase phase : {Phase::speaking, Phase::holding}) {
    Scene scene(phase);
    Piece some = piece(scene.speaker, 1);
    some.count = 3;  // the first has passed
    EXPECT_EQ(scene.relay.heard(some), Next::broken) << to_string(phase);
    some.position = 2;
    some.count = UINT64_MAX;
    EXPECT_EQ(scene.relay.heard(some), Next::broken) << "there are not so many";
    EXPECT_EQ(scene.relay.passed(), 2u);
    some.count = 3;
    EXPECT_EQ(scene.relay.heard(some), phase == Phase::speaking ? Next::pass : Next::nothing);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 5)),
              phase == Phase::speaking ? Next::pass : Next::nothing);
  }
}

TEST(Relay, ASourceThatGoesOnTwiceIsHeardByItsFirstName) {
  Scene scene(Phase::speaking);
  for (std::uint64_t i = 2; i < 8; i += 2) {
    EXPECT_NE(scene.relay.warmed(scene.relay.warm()), kNoTurn);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, i)), Next::nothing);
    EXPECT_EQ(scene.relay.give_up(), Next::release);
    EXPECT_EQ(scene.relay.take_held().size(), 1u);
    EXPECT_EQ(scene.relay.heard(piece(scene.speaker, i + 1)), Next::pass);
    EXPECT_EQ(scene.relay.speaker(), scene.speaker);
  }
}

TEST(Relay, OnceOverNothingPasses) {
  Scene scene(Phase::over);
  EXPECT_EQ(scene.relay.heard(piece(scene.speaker, 2)), Next::nothing);
  EXPECT_EQ(scene.relay.died(scene.speaker), Next::nothing);
  EXPECT_EQ(scene.relay.give_up(), Next::nothing);
}

// Engines that each draw as they like, deaths and moves at random: the client is told every
// position once and in order, each by an attempt that continued what it had been told until then.
class RandomHistory : public ::testing::TestWithParam<unsigned> {
 protected:
  // An attempt knows what the client had when it began, and its own tokens since.
  struct Engine {
    Turn turn;
    std::vector<TokenId> said;
  };

  void begun(Turn turn) {
    if (turn != kNoTurn) engines_.push_back({turn, client_});
  }
  void told(const Piece& told) {
    ASSERT_EQ(told.position, client_.size());
    for (const Engine& engine : engines_) {
      if (engine.turn != told.turn) continue;
      for (std::size_t i = 0; i < client_.size(); ++i) ASSERT_EQ(engine.said[i], client_[i]);
    }
    client_.push_back(told.ids.front());
  }
  void act(Next next, const Piece& said) {
    if (next == Next::pass || next == Next::take_over) told(said);
    if (next != Next::release) return;
    for (const Piece& held : relay_.take_held()) told(held);
  }
  void step() {
    const auto what = random_() % 100;
    if (what < 70 && !engines_.empty()) {  // somebody says something, perhaps one nobody hears
      Engine& engine = engines_[random_() % engines_.size()];
      const Piece said{.turn = engine.turn,
                       .position = engine.said.size(),
                       .count = 1,
                       .ids = {static_cast<TokenId>(random_())}};
      engine.said.push_back(said.ids.front());
      act(relay_.heard(said), said);
    } else if (what < 80) {
      begun(relay_.warm());
    } else if (what < 83) {
      begun(relay_.warm_again(relay_.other()));
    } else if (what < 90) {
      begun(relay_.warmed(relay_.other()));
    } else if (what < 94 && !engines_.empty()) {
      act(relay_.died(engines_[random_() % engines_.size()].turn), {});
    } else if (what < 97) {
      act(relay_.give_up(), {});
    } else {
      begun(relay_.begin());
    }
  }

  std::mt19937 random_{GetParam()};
  Relay relay_;
  std::vector<Engine> engines_;
  std::vector<TokenId> client_;
};

TEST_P(RandomHistory, TellsEveryPositionOnceAndByWhoKnewTheOthers) {
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    step();
    if (engines_.size() > 12) engines_.erase(engines_.begin());
  }
  EXPECT_EQ(relay_.passed(), client_.size());
  EXPECT_GT(client_.size(), 100u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistory, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace aqua::router
