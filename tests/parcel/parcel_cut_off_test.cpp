// SPDX-License-Identifier: Apache-2.0
// Who was to get a parcel is told that it does not come.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parcel/parcel_book.hpp"
#include "tests/base/code_of.hpp"

namespace aqua {
namespace {

using News = std::vector<ParcelNews>;

class CutOffParcel : public ::testing::Test {
 protected:
  static constexpr MemberNumber kGiver = 1, kDecode = 2, kOther = 3, kCourier = 4, kNext = 5;

  CutOffParcel() {
    EXPECT_TRUE(book_.join(kGiver, "prefill").ok());
    EXPECT_TRUE(book_.join(kNext, "prefill").ok());
    EXPECT_TRUE(book_.join(kDecode, "decode").ok());
    EXPECT_TRUE(book_.join(kOther, "decode").ok());
  }
  std::uint64_t reserve(const ParcelHead& head, MemberNumber giver = kGiver) {
    return book_.reserve(giver, "decode", head).value();
  }
  static News cut_off(std::uint64_t number, const ParcelHead& head) {
    return {{number, ParcelEvent::cut_off, head}};
  }

  ParcelBook book_;
};

TEST_F(CutOffParcel, IsToldWhoPromisedRoomForItAndNobodyElse) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t number = reserve({"a", 3});
  book_.gone(kGiver);
  EXPECT_EQ(book_.take_news(kDecode), cut_off(number, {"a", 3}));
  EXPECT_FALSE(book_.has_news(kDecode)) << "once";
  EXPECT_FALSE(book_.has_news(kOther));
  book_.end(kGiver);
  EXPECT_FALSE(book_.has_news(kDecode)) << "of what has ended before";
}

// The room of the first one is not promised to the second one, which ends, too.
TEST_F(CutOffParcel, OfTwoThatEndTogetherEachIsToldToThoseItIsOf) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t open = reserve({"a", 1}), reserved = reserve({"b", 1});
  book_.gone(kGiver);
  EXPECT_EQ(book_.take_news(kDecode), (News{{open, ParcelEvent::cut_off, {"a", 1}},
                                            {reserved, ParcelEvent::cut_off, {"b", 1}}}));
  EXPECT_EQ(book_.take_news(kOther), cut_off(reserved, {"b", 1}));
}

TEST_F(CutOffParcel, IsNamedByTheTurnUnderWhichItWasGiven) {
  const std::uint64_t number = book_.open(kGiver, "decode", {"a", 1}).value();
  ASSERT_TRUE(book_.close(kGiver, number, 1, "").ok());
  ASSERT_TRUE(book_.accept(kDecode).ok());
  book_.end(kDecode);
  ASSERT_TRUE(book_.cancel("a").ok());
  EXPECT_EQ(book_.take_news(kOther), cut_off(number, {"a", 1})) << "and not by its takers'";
}

TEST_F(CutOffParcel, IsToldAllOfItsRoleWhereNobodyHasPromisedRoom) {
  const std::uint64_t reserved = reserve({"a", 1});
  const std::uint64_t open = book_.open(kGiver, "decode", {"b", 1}).value();
  book_.gone(kOther);
  ASSERT_TRUE(book_.recall(kGiver, open).ok());
  EXPECT_EQ(book_.take_news(kDecode), cut_off(open, {"b", 1}));
  book_.end(kGiver);
  EXPECT_EQ(book_.take_news(kDecode), cut_off(reserved, {"a", 1}));
  EXPECT_FALSE(book_.has_news(kNext));
  EXPECT_FALSE(book_.has_news(kOther)) << "who is gone";
}

TEST_F(CutOffParcel, IsOneThatWasCompleteAndIsTakenBackOrCancelled) {
  const std::uint64_t first = book_.open(kGiver, "decode", {"a", 1}).value();
  ASSERT_TRUE(book_.close(kGiver, first, 1, "").ok());
  ASSERT_TRUE(book_.recall(kGiver, first).ok());
  EXPECT_EQ(book_.take_news(kDecode), cut_off(first, {"a", 1}));
  const std::uint64_t second = book_.open(kGiver, "decode", {"a", 2}).value();
  ASSERT_TRUE(book_.close(kGiver, second, 1, "").ok());
  ASSERT_TRUE(book_.cancel("a").ok());
  EXPECT_EQ(book_.take_news(kDecode), cut_off(second, {"a", 2}));
}

TEST_F(CutOffParcel, IsNoneThatOutlivesItsGiverOrThatAHigherTurnEnds) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 2).ok());
  const std::uint64_t complete = reserve({"a", 1});
  ASSERT_TRUE(book_.close(kGiver, complete, 1, "").ok());
  reserve({"b", 1});
  reserve({"b", 2}, kNext);
  book_.end(kGiver);
  EXPECT_FALSE(book_.has_news(kDecode));
  EXPECT_EQ(book_.next_for(kDecode), complete);
}

// It is still with the keeper where it began, from where it is carried again.
TEST_F(CutOffParcel, IsNoneWhoseCourierEndsButOneThatIsCancelled) {
  ASSERT_TRUE(book_.join_courier(kCourier, "prefill", {}).ok());
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 2).ok());
  const std::uint64_t recalled = reserve({"a", 1}, kCourier);
  ASSERT_TRUE(book_.recall(kCourier, recalled).ok());
  EXPECT_FALSE(book_.has_news(kDecode));
  reserve({"b", 1}, kCourier);
  book_.end(kCourier);
  EXPECT_FALSE(book_.has_news(kDecode));
  ASSERT_TRUE(book_.join_courier(kCourier, "prefill", {}).ok());
  const std::uint64_t cancelled = reserve({"c", 1}, kCourier);
  ASSERT_TRUE(book_.cancel("c").ok());
  EXPECT_EQ(book_.take_news(kDecode), cut_off(cancelled, {"c", 1}));
}

// It is on its way to another keeper, or comes back.
TEST_F(CutOffParcel, IsNotOneThatACourierHasTakenAndWhoCancelsItHearsSo) {
  ASSERT_TRUE(book_.join_courier(kCourier, "decode", {"prefill", "b.test"}).ok());
  ASSERT_TRUE(book_.admit(kCourier, "prefill", 1).ok());
  const std::uint64_t number = reserve({"a", 3});
  ASSERT_TRUE(book_.close(kGiver, number, 1, "").ok());
  ASSERT_EQ(book_.accept(kCourier).value(), number);
  EXPECT_EQ(code_of(book_.cancel("a", 2)), "not_found") << "it was given under a higher turn";
  EXPECT_EQ(code_of(book_.cancel("a", 3)), "failed_precondition");
  book_.end(kCourier);
  EXPECT_TRUE(book_.cancel("a", 3).ok());
  EXPECT_EQ(code_of(book_.cancel("a", 3)), "not_found");
}

// A higher turn was closed, so that what is taken waits here no more. It may still come where a
// courier carries it.
TEST_F(CutOffParcel, IsNotOneThatWasReplacedAndOfTheseOnlyACouriersMayComeYet) {
  ASSERT_TRUE(book_.join_courier(kCourier, "decode", {"prefill", "b.test"}).ok());
  for (const MemberNumber taker : {kCourier, kDecode}) {
    const std::string id = taker == kCourier ? "a" : "b";
    ASSERT_TRUE(book_.admit(taker, "prefill", 1).ok());
    const std::uint64_t number = reserve({id, 3});
    ASSERT_TRUE(book_.close(kGiver, number, 1, "").ok());
    ASSERT_EQ(book_.accept(taker).value(), number);
    ASSERT_TRUE(book_.admit(taker, "prefill", 1).ok());
    ASSERT_TRUE(book_.close(kNext, reserve({id, 9}, kNext), 1, "").ok());
    EXPECT_EQ(code_of(book_.cancel(id, 3)),
              taker == kCourier ? "failed_precondition" : "not_found");
    EXPECT_TRUE(book_.finish(taker, number).ok());
    EXPECT_EQ(code_of(book_.cancel(id, 3)), "not_found");
    EXPECT_TRUE(book_.cancel(id).ok());
  }
}

// Where it was cut off before it was carried, its courier says so.
TEST_F(CutOffParcel, IsOneThatWasToComeFromAnotherKeeper) {
  ASSERT_TRUE(book_.join_courier(kCourier, "prefill", {}).ok());
  EXPECT_EQ(code_of(book_.tell_cut_off(kGiver, "decode", {"a", 1})), "failed_precondition");
  EXPECT_EQ(code_of(book_.tell_cut_off(9, "decode", {"a", 1})), "not_found");
  EXPECT_EQ(code_of(book_.tell_cut_off(kCourier, "", {"a", 1})), "invalid_argument");
  EXPECT_EQ(code_of(book_.tell_cut_off(kCourier, "decode", {"", 1})), "invalid_argument");
  EXPECT_FALSE(book_.has_news(kDecode));
  ASSERT_EQ(code_of(book_.tell_cut_off(kCourier, "decode", {"a", 7})), "ok");
  EXPECT_EQ(book_.take_news(kDecode), cut_off(0, {"a", 7}));
  EXPECT_EQ(book_.take_news(kOther), cut_off(0, {"a", 7}));
  EXPECT_FALSE(book_.has_news(kGiver));
  // One that was given later is on its way, or was complete.
  ASSERT_TRUE(book_.reserve(kCourier, "decode", {"b", 9}, 8).ok());
  ASSERT_TRUE(book_.tell_cut_off(kCourier, "decode", {"b", 8}).ok());
  EXPECT_FALSE(book_.has_news(kDecode));
  ASSERT_TRUE(book_.tell_cut_off(kCourier, "decode", {"b", 9}).ok());
  EXPECT_TRUE(book_.has_news(kDecode));
}

TEST_F(CutOffParcel, IsRememberedForATakerThatDoesNotListenUpToABound) {
  for (std::uint64_t turn = 1; turn <= kMostCutOff + 1; ++turn) {
    ASSERT_TRUE(book_.recall(kGiver, book_.open(kGiver, "decode", {"a", turn}).value()).ok());
  }
  const News told = book_.take_news(kDecode);
  ASSERT_EQ(told.size(), kMostCutOff);
  EXPECT_EQ(told.front().head.turn, 1U);
}

}  // namespace
}  // namespace aqua
