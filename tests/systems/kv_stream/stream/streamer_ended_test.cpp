// SPDX-License-Identifier: Apache-2.0
// Sequences that end while another attempt at them is under way, which is cut off.
#include <gtest/gtest.h>

#include "aqua/kv_stream/streamer.hpp"
#include "tests/systems/kv_stream/stream/pair.hpp"

namespace aqua::kv_stream {
namespace {

using test::sure;
using test::TwoToOne;

// A sequence that was streamed once is streamed again, and the second stage is killed before it has
// given its part of it.
class CutOffAttempt : public TwoToOne {
 protected:
  void SetUp() override {
    pair_.admit(1);  // which serves each attempt
    auto first = pair_.begin(1, 8);
    pair_.send(first, 8, 1);
    EXPECT_EQ(pair_.receive(1, 8, 1), 0U);
    second_ = pair_.begin(1, 8, 2);
  }
  void cut_off() {
    send_first_part(second_);
    second_[1].cancel();
  }
  // What was admitted, each stage that sends can use once.
  void expect_room_for_one() {
    auto next = pair_.begin(2, 8);
    EXPECT_TRUE(sure(next[0].ready()));
    EXPECT_TRUE(sure(next[1].ready()));
    auto too_many = pair_.begin(3, 8);
    EXPECT_FALSE(sure(too_many[0].ready()));
    EXPECT_FALSE(sure(too_many[1].ready()));
    too_many.clear();
    pair_.send(next, 8, 5);
    EXPECT_EQ(pair_.receive(2, 8, 5), 0U);
    pair_.finish(2);
    EXPECT_EQ(pair_.hub.book.size(), 0U) << "nothing is left over";
  }
  static bool is_not_one(std::uint64_t sequence) { return sequence != 1; }

  std::vector<StreamOut> second_{};
};

TEST_F(CutOffAttempt, WhatComesOfItBehindTheEndIsGivenUp) {
  pair_.finish(1);
  pair_.admit(1);
  cut_off();
  EXPECT_TRUE(receiver_.streamer.arrived(is_not_one).empty());
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhatHasComeOfItAtTheEndIsGivenUp) {
  cut_off();
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_FALSE(sure(receiver_.streamer.finish(1, receiver_.stream()))) << "not of this attempt";
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhatHasComeOfItIsGivenUpOnceItIsNotWanted) {
  cut_off();
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_TRUE(receiver_.streamer.arrived(is_not_one).empty());
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhatHasComeOfItIsGivenUpWhileAGraphIsCaptured) {
  cut_off();
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  receiver_.carrier.capture(true);
  EXPECT_TRUE(receiver_.streamer.arrived(is_not_one).empty());
  EXPECT_EQ(pair_.hub.book.size(), 0U);
  receiver_.carrier.capture(false);
  expect_room_for_one();
}

TEST_F(CutOffAttempt, OneThatIsCompleteBehindTheEndIsNotToldOf) {
  pair_.finish(1);
  pair_.admit(1);
  pair_.send(second_, 8, 3);
  EXPECT_TRUE(receiver_.streamer.arrived(is_not_one).empty());
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhereNothingOfItComesTheFirstIsGivenUp) {
  pair_.finish(1);  // of no higher attempt anything is complete: it waits for another receiver
  pair_.admit(1);
  for (StreamOut& out : second_) out.cancel();
  EXPECT_TRUE(receiver_.streamer.arrived(is_not_one).empty());
  expect_room_for_one();
}

using Told = std::vector<CutOff>;

TEST_F(CutOffAttempt, IsToldOnceAndWhatHasComeOfItIsGivenUp) {
  EXPECT_TRUE(receiver_.streamer.cut_off().empty()) << "it may come";
  pair_.finish(1);
  pair_.admit(1);
  cut_off();
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_EQ(receiver_.streamer.cut_off(), (Told{{1, 2}}));
  EXPECT_TRUE(receiver_.streamer.cut_off().empty()) << "once";
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhatComesOfItAfterItWasToldIsGivenUp) {
  pair_.finish(1);
  pair_.admit(1);
  second_[1].cancel();
  EXPECT_EQ(receiver_.streamer.cut_off(), (Told{{1, 2}}));
  send_first_part(second_);
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  expect_room_for_one();
}

TEST_F(CutOffAttempt, WhoseBothPartsAreCutOffIsOne) {
  for (StreamOut& out : second_) out.cancel();
  EXPECT_EQ(receiver_.streamer.cut_off(), (Told{{1, 2}}));
}

TEST_F(CutOffAttempt, IsNotToldOnceALaterOneHasBegunToCome) {
  cut_off();
  auto third = pair_.begin(1, 8, 3);
  pair_.send(third, 8, 4);
  const auto arrived = receiver_.streamer.arrived();
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived.front().attempt, 3U);
  EXPECT_TRUE(receiver_.streamer.cut_off().empty());
}

TEST_F(TwoToOne, OfASequenceThatIsNotKnownNothingIsFinished) {
  EXPECT_FALSE(sure(receiver_.streamer.finish(1, receiver_.stream())));
}

}  // namespace
}  // namespace aqua::kv_stream
