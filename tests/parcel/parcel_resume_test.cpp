// SPDX-License-Identifier: Apache-2.0
// Parcels that come from another keeper, by somebody who may have begun before and does not know
// how far that got.
#include <gtest/gtest.h>

#include <string>

#include "parcel/parcel_book.hpp"

namespace aqua {
namespace {

constexpr std::uint64_t kGiven = 5;  // at the other keeper

class ResumedParcel : public ::testing::Test {
 protected:
  static constexpr MemberNumber kFirst = 1, kNext = 2, kTaker = 3;

  ResumedParcel() {
    EXPECT_TRUE(book_.join(kFirst, "prefill").ok());
    EXPECT_TRUE(book_.join(kNext, "prefill").ok());
    EXPECT_TRUE(book_.join(kTaker, "decode").ok());
    EXPECT_TRUE(book_.admit(kTaker, "prefill", 4).ok());
  }
  std::uint64_t reserve(MemberNumber giver, std::uint64_t turn, std::uint64_t since = kGiven) {
    return book_.reserve(giver, "decode", {"r", turn}, since).value();
  }
  void close(MemberNumber giver, std::uint64_t number) {
    EXPECT_TRUE(book_.close(giver, number, 7, "note").ok());
  }
  Code refused(MemberNumber giver, std::uint64_t since) {
    const ParcelBook before = book_;
    const auto resumed = book_.resume(giver, "r", since);
    EXPECT_EQ(book_, before);
    return resumed.ok() ? Code::internal : resumed.error().code;
  }
  ParcelBook book_;
};

TEST_F(ResumedParcel, NothingIsThereThatWasNotClosed) {
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), 0U);
  reserve(kFirst, 6);
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), 0U);
  EXPECT_TRUE(book_.is_being_given("r"));
  book_.end(kFirst);
  EXPECT_FALSE(book_.is_being_given("r"));
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), 0U);
  EXPECT_EQ(book_.highest_turn("r"), 6U) << "its turn is used up";
  EXPECT_EQ(book_.highest_turn("never"), 0U);
}

TEST_F(ResumedParcel, WhatIsClosedHasANewGiver) {
  const std::uint64_t number = reserve(kFirst, 6);
  close(kFirst, number);
  EXPECT_EQ(refused(kNext, kGiven), Code::failed_precondition) << "the first one is there";
  book_.gone(kFirst);
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), number);
  EXPECT_EQ(book_.accept(kTaker).value(), number);
  EXPECT_TRUE(book_.confirm(kTaker, number).ok());
  EXPECT_EQ(book_.take_news(kNext), (std::vector<ParcelNews>{{number, ParcelEvent::confirmed}}));
}

TEST_F(ResumedParcel, WhatIsTakenHasANewGiver) {
  const std::uint64_t number = reserve(kFirst, 6);
  close(kFirst, number);
  EXPECT_TRUE(book_.accept(kTaker).ok());
  book_.end(kFirst);
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), number);
  EXPECT_TRUE(book_.finish(kTaker, number).ok());
  EXPECT_EQ(book_.take_news(kNext), (std::vector<ParcelNews>{{number, ParcelEvent::confirmed}}));
}

TEST_F(ResumedParcel, WhatIsConfirmedOrHasEndedNeedsNone) {
  const std::uint64_t number = reserve(kFirst, 6);
  close(kFirst, number);
  EXPECT_TRUE(book_.accept(kTaker).ok());
  EXPECT_TRUE(book_.confirm(kTaker, number).ok());
  book_.end(kFirst);
  EXPECT_EQ(refused(kNext, kGiven), Code::already_exists);
  EXPECT_TRUE(book_.finish(kTaker, number).ok());
  EXPECT_EQ(refused(kNext, kGiven), Code::already_exists);
}

TEST_F(ResumedParcel, AnEarlierClosingIsAnotherParcel) {
  const std::uint64_t before = reserve(kFirst, 3, 3);  // of the same request, on its way back
  close(kFirst, before);
  book_.end(kFirst);
  EXPECT_EQ(book_.resume(kNext, "r", kGiven).value(), 0U);
  EXPECT_EQ(book_.resume(kNext, "r", 3).value(), before);
  EXPECT_EQ(refused(kNext, 2), Code::cancelled);
}

// The carrier's own turn lies above the giver's, and says nothing of which parcel it is.
TEST_F(ResumedParcel, ALaterOneOfATurnThatACarrierHadIsAnother) {
  close(kFirst, reserve(kFirst, 9, kGiven));
  book_.end(kFirst);
  EXPECT_EQ(book_.resume(kNext, "r", 6).value(), 0U);
}

TEST_F(ResumedParcel, IsNotToldOfWhileAHigherTurnIsGiven) {
  close(kFirst, reserve(kFirst, 6));
  EXPECT_TRUE(book_.accept(kTaker).ok());
  book_.end(kFirst);
  reserve(kNext, 20, 20);
  EXPECT_EQ(refused(kNext, kGiven), Code::aborted);
}

TEST_F(ResumedParcel, ItsOwnGiverGoesOnWithIt) {
  const std::uint64_t number = reserve(kFirst, 6);
  close(kFirst, number);
  EXPECT_EQ(book_.resume(kFirst, "r", kGiven).value(), number);
}

TEST_F(ResumedParcel, ThatACourierBroughtNoCourierTakes) {
  constexpr MemberNumber kBrings = 5, kTakes = 6, kOther = 7;
  EXPECT_TRUE(book_.join_courier(kBrings, "prefill", {}).ok());
  EXPECT_TRUE(book_.join_courier(kTakes, "decode", {"prefill", "b"}).ok());
  EXPECT_TRUE(book_.join_courier(kOther, "decode", {"verify", "b"}).ok());
  EXPECT_TRUE(book_.admit(kTakes, "prefill", 40).ok());  // more room than the engine has
  EXPECT_TRUE(book_.admit(kOther, "prefill", 50).ok());
  const std::uint64_t number = reserve(kBrings, 6);
  EXPECT_EQ(book_.find(number)->receiver, kTaker);
  close(kBrings, number);
  EXPECT_EQ(book_.next_for(kTakes), 0U);
  EXPECT_EQ(book_.waiting_for(kTakes), 0U);
  EXPECT_EQ(book_.next_for(kTaker), number);
  const std::uint64_t own = book_.reserve(kFirst, "decode", {"s", 1}).value();
  EXPECT_EQ(book_.find(own)->receiver, kTakes) << "of another role than the other courier's";
}

// What may have come there is not given to anybody here.
TEST_F(ResumedParcel, ThatACourierHadOnlyOneToTheSamePeerTakes) {
  constexpr MemberNumber kTakes = 5, kElsewhere = 6, kAgain = 7;
  EXPECT_TRUE(book_.join_courier(kTakes, "decode", {"prefill", "b"}).ok());
  const std::uint64_t number = book_.open(kFirst, "decode", {"r", 1}).value();
  close(kFirst, number);
  EXPECT_EQ(book_.accept(kTakes).value(), number);
  book_.end(kTakes);
  EXPECT_TRUE(book_.join_courier(kElsewhere, "decode", {"prefill", "c"}).ok());
  EXPECT_EQ(book_.next_for(kTaker), 0U);
  EXPECT_EQ(book_.waiting_for(kTaker), 0U);
  EXPECT_EQ(book_.next_for(kElsewhere), 0U);
  EXPECT_TRUE(book_.join_courier(kAgain, "decode", {"prefill", "b"}).ok());
  EXPECT_EQ(book_.accept(kAgain).value(), number);
}

TEST_F(ResumedParcel, IsSupersededByWhatBeganUnderAHigherTurn) {
  close(kFirst, reserve(kFirst, 6));
  book_.end(kFirst);
  close(kNext, reserve(kNext, 20, 20));
  EXPECT_EQ(refused(kNext, kGiven), Code::cancelled);
}

TEST_F(ResumedParcel, OfNoMemberIsRefused) {
  EXPECT_EQ(refused(9, kGiven), Code::not_found);
}

TEST_F(ResumedParcel, TheTakerOfTheFirstServerSpeaksUnderHigherTurns) {
  const std::uint64_t number = reserve(kFirst, 6);
  close(kFirst, number);
  EXPECT_TRUE(book_.accept(kTaker).ok());
  EXPECT_EQ(book_.find(number)->turn, 7U);
  EXPECT_EQ(book_.renew(kTaker, number, 0).value(), 8U);
  EXPECT_EQ(book_.renew(kTaker, number, 20).value(), 21U);
  EXPECT_EQ(book_.find(number)->turn, 21U);
  EXPECT_EQ(book_.find(number)->given_turn, kGiven);
  EXPECT_EQ(book_.check_turn(kFirst, {"r", 21}).error().code, Code::aborted);
  EXPECT_EQ(book_.renew(kTaker, number, kMostTurn).error().code, Code::invalid_argument);
  EXPECT_EQ(book_.renew(kFirst, number, 0).error().code, Code::not_found);
  reserve(kFirst, 22);
  EXPECT_EQ(book_.renew(kTaker, number, 0).error().code, Code::aborted) << "it is superseded";
}

}  // namespace
}  // namespace aqua
