// SPDX-License-Identifier: Apache-2.0
// Room that receivers promise to those who give, before anything is filled.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parcel/parcel_book.hpp"
#include "tests/base/code_of.hpp"

namespace aqua {
namespace {

class ParcelRoom : public ::testing::Test {
 protected:
  static constexpr MemberNumber kPrefill = 1, kDecode = 2, kOther = 3, kSecond = 4;

  ParcelRoom() {
    EXPECT_TRUE(book_.join(kPrefill, "prefill").ok());
    EXPECT_TRUE(book_.join(kSecond, "prefill").ok());
    EXPECT_TRUE(book_.join(kDecode, "decode").ok());
    EXPECT_TRUE(book_.join(kOther, "decode").ok());
  }
  std::uint64_t reserve(const std::string& id) {
    return book_.reserve(kPrefill, "decode", {id, 1}).value();
  }
  [[nodiscard]] ParcelState state(std::uint64_t number) const { return book_.find(number)->state; }

  ParcelBook book_;
};

TEST_F(ParcelRoom, AReservationIsOpenedWhenSomebodyOfTheRoleHasRoom) {
  const std::uint64_t a = reserve("a"), b = reserve("b"), c = reserve("c");
  EXPECT_EQ(state(a), ParcelState::reserved);
  EXPECT_EQ(code_of(book_.close(kPrefill, a, 1, "")), "failed_precondition");
  ASSERT_TRUE(book_.admit(kSecond, "prefill", 9).ok()) << "of another role";
  EXPECT_EQ(state(a), ParcelState::reserved);
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 2).ok());
  EXPECT_EQ(state(a), ParcelState::open);
  EXPECT_EQ(state(b), ParcelState::open);
  EXPECT_EQ(state(c), ParcelState::reserved) << "the oldest first";
  EXPECT_EQ(book_.take_news(kPrefill),
            (std::vector<ParcelNews>{{a, ParcelEvent::opened}, {b, ParcelEvent::opened}}));
  EXPECT_TRUE(book_.take_news(kPrefill).empty()) << "once";
}

TEST_F(ParcelRoom, RoomIsPromisedToOneParcelAndFreeWhenItsGiverDies) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t first = book_.reserve(kSecond, "decode", {"a", 1}).value();
  EXPECT_EQ(state(first), ParcelState::open);
  const std::uint64_t second = reserve("b");
  EXPECT_EQ(state(second), ParcelState::reserved);
  book_.end(kSecond);
  EXPECT_EQ(book_.find(first), nullptr);
  EXPECT_EQ(book_.take_ended(), std::vector{first});
  EXPECT_EQ(state(second), ParcelState::open);
}

TEST_F(ParcelRoom, RoomIsForOneRoleAndAddsUp) {
  ASSERT_TRUE(book_.join(5, "verify").ok());
  ASSERT_TRUE(book_.admit(kDecode, "verify", 1).ok());
  const std::uint64_t first = reserve("a"), second = reserve("b");
  EXPECT_EQ(state(first), ParcelState::reserved) << "the room is another's";
  EXPECT_EQ(state(book_.reserve(5, "decode", {"c", 1}).value()), ParcelState::open);
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  EXPECT_EQ(state(first), ParcelState::open);
  EXPECT_EQ(state(second), ParcelState::reserved);
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  EXPECT_EQ(state(second), ParcelState::open);
}

TEST_F(ParcelRoom, RoomThatCannotBeIsRefusedAndChangesNothing) {
  const auto most = static_cast<std::uint32_t>(ParcelBook::kMostParcels);
  ASSERT_TRUE(book_.admit(kDecode, "prefill", most).ok());
  const ParcelBook before = book_;
  EXPECT_EQ(code_of(book_.admit(kDecode, "prefill", 1)), "invalid_argument");
  EXPECT_EQ(code_of(book_.admit(kDecode, "", 1)), "invalid_argument");
  EXPECT_EQ(code_of(book_.admit(99, "prefill", 1)), "not_found");
  EXPECT_EQ(book_, before);
  for (std::size_t i = 1; i < ParcelBook::kMostRoomRoles; ++i) {
    ASSERT_TRUE(book_.admit(kDecode, std::to_string(i), 1).ok());
  }
  EXPECT_EQ(code_of(book_.admit(kDecode, "one more", 1)), "resource_exhausted");
}

TEST_F(ParcelRoom, AHigherTurnHasTheRoomOfTheOneBefore) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  reserve("a");
  const std::uint64_t second = book_.reserve(kSecond, "decode", {"a", 2}).value();
  EXPECT_EQ(state(second), ParcelState::open) << "by another giver of the role";
  ASSERT_TRUE(book_.close(kSecond, second, 5, "").ok());
  const std::uint64_t third = book_.reserve(kPrefill, "decode", {"a", 3}).value();
  EXPECT_EQ(state(third), ParcelState::open) << "of one that waits";
  const std::uint64_t other = reserve("b");
  ASSERT_TRUE(book_.recall(kPrefill, third).ok());
  EXPECT_EQ(state(other), ParcelState::reserved) << "the one that waits has it again";
  ASSERT_EQ(book_.accept(kDecode).value(), second);
  const std::uint64_t fourth = book_.reserve(kPrefill, "decode", {"a", 9}).value();
  EXPECT_EQ(state(fourth), ParcelState::open) << "of one that is taken";
  ASSERT_TRUE(book_.recall(kPrefill, fourth).ok());
  EXPECT_EQ(state(other), ParcelState::reserved) << "which its taker has not given up";
}

TEST_F(ParcelRoom, AReceiverThatAdmitsWhenItFinishesHasNeverMoreThanItHasRoomFor) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t first = reserve("a");
  ASSERT_TRUE(book_.close(kPrefill, first, 5, "").ok());
  ASSERT_EQ(book_.accept(kDecode).value(), first);
  const std::uint64_t second = book_.reserve(kPrefill, "decode", {"a", 9}).value();
  ASSERT_TRUE(book_.close(kPrefill, second, 5, "").ok());
  ASSERT_EQ(book_.accept(kDecode).value(), second) << "in the room of the first";
  const std::uint64_t other = reserve("b");
  ASSERT_TRUE(book_.finish(kDecode, first).ok());
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  EXPECT_EQ(state(other), ParcelState::reserved) << "the second has it";
  ASSERT_TRUE(book_.finish(kDecode, second).ok());
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  EXPECT_EQ(state(other), ParcelState::open);
}

// Nobody who has taken over for another starves by what that left.
TEST_F(ParcelRoom, WhatADeadReceiverHadPromisedIsTakenBesidesTheRoomOfTheNext) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t first = reserve("a");
  ASSERT_TRUE(book_.close(kPrefill, first, 5, "").ok());
  book_.end(kDecode);
  ASSERT_TRUE(book_.admit(kOther, "prefill", 1).ok());
  ASSERT_EQ(book_.accept(kOther).value(), first);
  const std::uint64_t second = reserve("b"), third = reserve("c");
  EXPECT_EQ(state(second), ParcelState::open);
  ASSERT_TRUE(book_.finish(kOther, first).ok());
  ASSERT_TRUE(book_.admit(kOther, "prefill", 1).ok());
  EXPECT_EQ(state(third), ParcelState::reserved) << "which is no more room than it had";
}

TEST_F(ParcelRoom, WhoHasMostRoomReceives) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  ASSERT_TRUE(book_.admit(kOther, "prefill", 2).ok());
  EXPECT_EQ(book_.find(reserve("a"))->receiver, kOther);
  EXPECT_EQ(book_.find(reserve("b"))->receiver, kDecode) << "as much, and the lower number";
}

TEST_F(ParcelRoom, ThePromisedReceiverTakesItAndAnybodyOfItsRoleIfThatIsGone) {
  ASSERT_TRUE(book_.admit(kDecode, "prefill", 1).ok());
  const std::uint64_t number = reserve("a");
  ASSERT_TRUE(book_.close(kPrefill, number, 5, "").ok());
  EXPECT_EQ(code_of(book_.accept(kOther)), "not_found");
  EXPECT_EQ(book_.next_for(kDecode), number);
  book_.gone(kDecode);
  EXPECT_EQ(book_.accept(kOther).value(), number);
}

}  // namespace
}  // namespace aqua
