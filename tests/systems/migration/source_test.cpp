// SPDX-License-Identifier: Apache-2.0
// What the source hands over, when it is held, and what does not move at all.
#include "aqua/migration/source.hpp"

#include <gtest/gtest.h>

namespace aqua::migration::test {
namespace {

using C = SourceCommand;
using E = SourceEvent;
using S = SourceState;

const Candidate answering{.prompt_tokens = 1000, .computed_tokens = 1004, .generated_tokens = 5};

SourceMove begin(const SourceOptions& options) {
  return SourceMove::begin(answering, options).value();
}

std::vector<SourceOrder> on(SourceMove& move, E event, std::uint32_t tokens = 0) {
  auto orders = move.on(event, tokens);
  EXPECT_TRUE(orders.ok()) << orders.error().message;
  return orders.ok() ? *orders : std::vector<SourceOrder>{};
}

using Orders = std::vector<SourceOrder>;

TEST(SourceMove, CopiesFinishedBlocksTwiceAndTheRestWhenItIsHeld) {
  SourceMove move = begin({.room_tokens = 2000, .block_tokens = 16, .little_tokens = 32});
  EXPECT_EQ(on(move, E::reserved, 1004), (Orders{{C::copy, {0, 992}}}));
  EXPECT_EQ(on(move, E::copied, 1100), (Orders{{C::copy, {992, 96}}}));
  EXPECT_EQ(on(move, E::copied, 1200), (Orders{{C::hold, {}}})) << "two rounds";
  EXPECT_EQ(on(move, E::held, 1201), (Orders{{C::copy, {1088, 113}}, {C::close, {}}}));
  EXPECT_EQ(on(move, E::closed), Orders{});
  EXPECT_EQ(move.state(), S::handed);
  EXPECT_EQ(on(move, E::confirmed), (Orders{{C::withdraw, {}}, {C::free, {}}}));
  EXPECT_EQ(move.state(), S::moved);
  EXPECT_TRUE(move.over());
}

TEST(SourceMove, IsHeldAfterOneRoundWhenLittleIsLeft) {
  SourceMove move = begin({.room_tokens = 2000, .block_tokens = 16, .little_tokens = 32});
  (void)on(move, E::reserved, 1004);
  EXPECT_EQ(on(move, E::copied, 1030), (Orders{{C::hold, {}}})) << "two blocks";
}

TEST(SourceMove, WithoutAFinishedBlockIsHeldAtOnce) {
  SourceMove move = begin({.room_tokens = 2000, .block_tokens = 2048});
  EXPECT_EQ(on(move, E::reserved, 1004), (Orders{{C::hold, {}}}));
  EXPECT_EQ(on(move, E::held, 1005), (Orders{{C::copy, {0, 1005}}, {C::close, {}}}));
}

TEST(SourceMove, AsTokensTellsAllThatIsKnown) {
  SourceMove move = begin({.kind = Kind::tokens, .room_tokens = 2000, .little_tokens = 8});
  EXPECT_EQ(on(move, E::reserved, 1005), (Orders{{C::copy, {0, 1005}}}));
  EXPECT_EQ(on(move, E::copied, 1040), (Orders{{C::copy, {1005, 35}}}));
  EXPECT_EQ(on(move, E::copied, 1042), (Orders{{C::hold, {}}}));
  EXPECT_EQ(on(move, E::held, 1043), (Orders{{C::copy, {1040, 3}}, {C::close, {}}}));
}

TEST(SourceMove, IsHeldBeforeItOutgrowsTheRoom) {
  SourceMove move = begin({.room_tokens = 1020});
  (void)on(move, E::reserved, 1004);
  EXPECT_EQ(move.grew(1018), Orders{});
  EXPECT_EQ(move.grew(1019), (Orders{{C::hold, {}}}));
  EXPECT_EQ(move.grew(1020), Orders{}) << "once";
  EXPECT_EQ(on(move, E::held, 1020), (Orders{{C::copy, {992, 28}}, {C::close, {}}}));
}

// It goes on while it waits for the room, and nobody knows how long.
TEST(SourceMove, ThatHasOutgrownTheRoomBeforeItIsThereCopiesNothing) {
  SourceMove move = begin({.room_tokens = 1020});
  EXPECT_EQ(move.grew(1500), Orders{}) << "there is nothing to hold yet";
  EXPECT_EQ(on(move, E::reserved, 1500), (Orders{{C::hold, {}}}));
  EXPECT_EQ(on(move, E::held, 1500),
            (Orders{{C::withdraw, {}}, {C::release, {}}, {C::report, {}}}));
  EXPECT_EQ(move.reason(), Stays::outgrown);
}

TEST(SourceMove, NeverCopiesMoreThanTheRoomWhateverItIsTold) {
  for (const Kind kind : {Kind::kv, Kind::tokens}) {
    for (std::uint32_t grown = 1004; grown < 1200; ++grown) {
      SourceMove move = begin({.kind = kind, .room_tokens = 1100, .little_tokens = 0});
      (void)on(move, E::reserved, 1004);
      for (const SourceOrder& order : on(move, E::copied, grown)) {
        EXPECT_LE(order.range.first + order.range.count, 1100U) << grown;
      }
    }
  }
}

TEST(SourceMove, FewerTokensThanHaveCrossedAreRefused) {
  SourceMove move = begin({.room_tokens = 2000});
  (void)on(move, E::reserved, 1004);
  const SourceMove copying = move;
  EXPECT_EQ(move.on(E::copied).error().code, Code::invalid_argument);
  EXPECT_EQ(move, copying);
  (void)on(move, E::copied, 1004);
  const SourceMove holding = move;
  EXPECT_EQ(move.on(E::held, 991).error().code, Code::invalid_argument);
  EXPECT_EQ(move, holding);
  EXPECT_EQ(on(move, E::held, 992), (Orders{{C::copy, {992, 0}}, {C::close, {}}}));
}

TEST(SourceMove, ThatNothingIsWorthARoundForIsHeldAfterTheFirst) {
  SourceMove move = begin({.room_tokens = 2000, .little_tokens = UINT32_MAX});
  (void)on(move, E::reserved, 1004);
  EXPECT_EQ(on(move, E::copied, 1900), (Orders{{C::hold, {}}}));
}

TEST(SourceMove, ThatHasOutgrownTheRoomAllTheSameStays) {
  SourceMove move = begin({.room_tokens = 1020});
  (void)on(move, E::reserved, 1004);
  (void)move.grew(1019);
  EXPECT_EQ(on(move, E::held, 1021),
            (Orders{{C::withdraw, {}}, {C::release, {}}, {C::report, {}}}));
  EXPECT_EQ(move.state(), S::stays);
  EXPECT_EQ(move.reason(), Stays::outgrown);
}

TEST(SourceMove, SaysWhyItStays) {
  const std::pair<E, Stays> reasons[] = {{E::refused, Stays::refused},
                                         {E::lost, Stays::lost},
                                         {E::destination_died, Stays::destination_died},
                                         {E::router_died, Stays::router_died},
                                         {E::timed_out, Stays::timed_out}};
  for (const auto& [event, reason] : reasons) {
    SourceMove move = begin({.room_tokens = 2000});
    (void)on(move, event);
    EXPECT_EQ(move.state(), S::stays) << to_string(event);
    EXPECT_EQ(move.reason(), reason) << to_string(event);
    EXPECT_FALSE(why(reason).empty());
  }
}

TEST(SourceMove, WhatCannotHappenNowIsNamedAndChangesNothing) {
  SourceMove move = begin({.room_tokens = 2000});
  const SourceMove before = move;
  const auto told = move.on(E::held, 1004);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, Code::failed_precondition);
  EXPECT_EQ(told.error().message, "move: held while the source is reserving");
  EXPECT_EQ(move, before);
}

TEST(SourceMove, WhatCannotMoveIsSaidBeforehand) {
  const auto refused = [](Candidate candidate, Kind kind, Stays reason) {
    EXPECT_EQ(may_move(candidate, kind), reason);
    const auto move = SourceMove::begin(candidate, {.kind = kind, .room_tokens = 2000});
    ASSERT_FALSE(move.ok()) << to_string(reason);
    EXPECT_EQ(move.error().code, Code::failed_precondition);
    EXPECT_NE(move.error().message.find(why(reason)), std::string::npos);
  };
  Candidate candidate = answering;
  candidate.answers = 2;
  refused(candidate, Kind::kv, Stays::several_answers);
  refused(candidate, Kind::tokens, Stays::several_answers);
  candidate = answering;
  candidate.guided = true;
  refused(candidate, Kind::tokens, Stays::guided);
  candidate.guide_exported = true;
  EXPECT_EQ(may_move(candidate, Kind::kv), Stays::moves);
  candidate = answering;
  candidate.generated_tokens = 0;
  refused(candidate, Kind::tokens, Stays::prefill);
  candidate = answering;
  candidate.computed_tokens = 300;
  refused(candidate, Kind::kv, Stays::prefill);
  EXPECT_EQ(may_move(candidate, Kind::tokens), Stays::moves) << "it is computed again anyway";
}

TEST(SourceMove, WantsRoomForWhatThereIs) {
  EXPECT_EQ(SourceMove::begin(answering, {.room_tokens = 1004}).error().code,
            Code::resource_exhausted);
  EXPECT_EQ(SourceMove::begin(answering, {.room_tokens = 1005, .block_tokens = 0}).error().code,
            Code::invalid_argument);
  EXPECT_TRUE(SourceMove::begin(answering, {.room_tokens = 1005}).ok());
}

}  // namespace
}  // namespace aqua::migration::test
