// SPDX-License-Identifier: Apache-2.0
#include "parcel/segment_book.hpp"

#include <gtest/gtest.h>

#include "tests/base/code_of.hpp"

namespace aqua {
namespace {

constexpr SegmentQuota kRoomy{.bytes = 1000, .of_user = 1000, .of_process = 1000, .segments = 100};
constexpr SegmentOwner kAlice{.user = 1, .process = 10};

// Two members of two processes.
SegmentBook two_members() {
  SegmentBook book(kRoomy);
  EXPECT_TRUE(book.join(1, kAlice).ok());
  EXPECT_TRUE(book.join(2, {.user = 1, .process = 20}).ok());
  return book;
}

TEST(SegmentBook, WhatIsCommittedOutlivesItsWriter) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  const SegmentDigest digest{1, 2, 3};
  ASSERT_EQ(*book.commit(1, number, 0, 60, digest), 1U);
  EXPECT_TRUE(book.end(1).empty());
  const auto opened = book.open(2, number, 1);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, (SegmentName{number, 1, 60, digest}));
  EXPECT_EQ(opened->bytes, 100U);
  EXPECT_EQ(book.drop(number, 1)->size(), 0U) << "it is read";
  EXPECT_EQ(*book.close(2, number), SegmentNumbers{number});
  EXPECT_EQ(book.counts(), SegmentCounts{});
}

TEST(SegmentBook, WhatIsNotCommittedGoesWithItsWriter) {
  SegmentBook book = two_members();
  const SegmentNumber first = *book.reserve(1, 100);
  const SegmentNumber other = *book.reserve(2, 100);
  EXPECT_EQ(book.end(1), SegmentNumbers{first});
  EXPECT_EQ(book.gone(2), SegmentNumbers{other}) << "nobody else gets that memory";
}

TEST(SegmentBook, AWriterGetsBackWhatIsNeitherKeptNorRead) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}).ok());
  ASSERT_TRUE(book.open(2, number, 1).ok());
  ASSERT_TRUE(book.drop(number, 1).ok());
  EXPECT_TRUE(book.returned_to().empty()) << "it is read";
  EXPECT_EQ(code_of(book.commit(1, number, 0, 1, {})), "failed_precondition");
  ASSERT_TRUE(book.close(2, number).ok());
  EXPECT_EQ(book.returned_to(), std::set<std::uint64_t>{1});
  EXPECT_EQ(code_of(book.commit(1, number, 0, 1, {})), "failed_precondition")
      << "it has not been told";
  EXPECT_EQ(*book.take_returned(1, 9), SegmentNumbers{number});
  EXPECT_EQ(*book.take_returned(1, 9), SegmentNumbers{});
  EXPECT_EQ(*book.commit(1, number, 0, 60, {}), 2U) << "a later generation";
}

TEST(SegmentBook, AReaderThatHungUpKeepsTheWriterOutUntilItHasEnded) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}).ok());
  ASSERT_TRUE(book.open(2, number, 1).ok());
  EXPECT_TRUE(book.gone(2).empty());
  ASSERT_TRUE(book.drop(number, 1).ok());
  EXPECT_TRUE(book.returned_to().empty());
  EXPECT_TRUE(book.reads(2));
  EXPECT_TRUE(book.end(2).empty());
  EXPECT_EQ(book.returned_to(), std::set<std::uint64_t>{1});
}

TEST(SegmentBook, OfAnEarlierGenerationNothingIsRead) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  EXPECT_EQ(code_of(book.open(2, number, 0)), "not_found") << "nothing is kept";
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}).ok());
  ASSERT_TRUE(book.drop(number, 1).ok());
  EXPECT_EQ(code_of(book.open(2, number, 1)), "not_found");
  ASSERT_TRUE(book.take_returned(1, 1).ok());
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}).ok());
  EXPECT_EQ(code_of(book.open(2, number, 1)), "aborted");
  EXPECT_EQ(code_of(book.open(2, number, 3)), "not_found") << "a forged generation";
  EXPECT_EQ(code_of(book.drop(number, 1)), "aborted");
}

TEST(SegmentBook, ACopySaysWhoseItIsUntilItIsDropped) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  const SegmentOrigin origin{.server = "a.test", .keeper = 1, .number = 2, .generation = 3};
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}, origin).ok());
  EXPECT_EQ(book.kept(0, 9).at(0).copy_of, origin);
  ASSERT_TRUE(book.drop(number, 1).ok());
  ASSERT_TRUE(book.take_returned(1, 1).ok());
  ASSERT_TRUE(book.commit(1, number, 0, 60, {}).ok());
  EXPECT_EQ(book.kept(0, 9).at(0).copy_of, std::nullopt);
}

TEST(SegmentBook, ACopyThatIsReadStaysAndOneThatWasAdoptedIsDroppedByNameAlone) {
  SegmentBook book = two_members();
  const SegmentOrigin origin{.server = "a.test", .keeper = 1, .number = 2, .generation = 3};
  const SegmentNumber copy = *book.reserve(1, 100), own = *book.reserve(1, 100);
  ASSERT_TRUE(book.commit(1, copy, 0, 60, {}, origin).ok());
  ASSERT_TRUE(book.commit(1, own, 0, 60, {}).ok());
  EXPECT_EQ(code_of(book.drop_copy(own, 1)), "failed_precondition") << "it is no copy";
  ASSERT_TRUE(book.open(2, copy, 1).ok());
  EXPECT_EQ(code_of(book.drop_copy(copy, 1)), "unavailable");
  ASSERT_TRUE(book.close(2, copy).ok());
  EXPECT_EQ(code_of(book.drop_copy(copy, 2)), "not_found");
  ASSERT_TRUE(book.drop_copy(copy, 1).ok());
  EXPECT_EQ(book.returned_to(), std::set<std::uint64_t>{1});

  ASSERT_TRUE(book.take_returned(1, 1).ok());
  ASSERT_TRUE(book.commit(1, copy, 0, 60, {}, origin).ok());
  ASSERT_TRUE(book.open(2, copy, 2).ok());
  ASSERT_TRUE(book.close(2, copy, /*adopts=*/true).ok());
  EXPECT_EQ(code_of(book.drop_copy(copy, 2)), "failed_precondition");
  ASSERT_TRUE(book.drop(copy, 2).ok());
  // Its next life is another one's.
  ASSERT_TRUE(book.take_returned(1, 1).ok());
  ASSERT_TRUE(book.commit(1, copy, 0, 60, {}, origin).ok());
  EXPECT_TRUE(book.drop_copy(copy, 3).ok());
}

TEST(SegmentBook, WhatWasCommittedForAParcelGoesWithIt) {
  SegmentBook book = two_members();
  const SegmentNumber a = *book.reserve(1, 10), b = *book.reserve(1, 10), c = *book.reserve(1, 10);
  ASSERT_TRUE(book.commit(1, a, 7, 10, {}).ok());
  ASSERT_TRUE(book.commit(1, b, 7, 10, {}).ok());
  ASSERT_TRUE(book.commit(1, c, 8, 10, {}).ok());
  EXPECT_EQ(code_of(book.drop(a, 1)), "failed_precondition");
  EXPECT_TRUE(book.end(1).empty());
  EXPECT_TRUE(book.end_parcel(0).empty());
  EXPECT_EQ(book.end_parcel(7), (SegmentNumbers{a, b}));
  EXPECT_EQ(book.counts().kept, 1U);
}

TEST(SegmentBook, WhatAnEarlierKeeperKeptIsKeptUnderItsName) {
  SegmentBook book({.bytes = 1000, .of_user = 500, .of_process = 10, .segments = 4}, 40);
  ASSERT_TRUE(book.join(1, kAlice).ok());
  const SegmentName name{.number = 42, .generation = 7, .bytes = 60, .digest = {1}};
  ASSERT_TRUE(book.restore(name, 100, 1).ok());
  EXPECT_EQ(code_of(book.restore(name, 100, 1)), "already_exists");
  EXPECT_EQ(code_of(book.restore({43, 1, 101, {}}, 100, 1)), "invalid_argument");
  EXPECT_EQ(code_of(book.restore({43, 1, 1, {}}, 401, 1)), "resource_exhausted");
  EXPECT_EQ(book.kept(0, 9).at(0), (SegmentStatus{name, 100, 0, false, 0}));
  EXPECT_EQ(*book.reserve(1, 5), 41U);
  EXPECT_EQ(*book.reserve(1, 5), 43U) << "42 is taken";
  EXPECT_EQ(book.open(1, 42, 7)->name, name);
  EXPECT_TRUE(book.drop(42, 7)->empty());
  EXPECT_EQ(*book.close(1, 42), SegmentNumbers{42});
  const SegmentOrigin origin{.server = "a.test", .keeper = 1, .number = 2, .generation = 3};
  ASSERT_TRUE(book.restore(name, 100, 1, origin).ok());
  EXPECT_EQ(book.kept(0, 9).at(0).copy_of, origin);
}

TEST(SegmentBook, RefusalsSayWhyAndChangeNothing) {
  SegmentBook book = two_members();
  const SegmentNumber number = *book.reserve(1, 100);
  const SegmentBook before = book;
  EXPECT_EQ(code_of(book.join(1, kAlice)), "already_exists");
  EXPECT_EQ(code_of(book.reserve(3, 1)), "not_found");
  EXPECT_EQ(code_of(book.reserve(1, 0)), "invalid_argument");
  EXPECT_EQ(code_of(book.reserve(1, ~std::uint64_t{0})), "resource_exhausted");
  EXPECT_EQ(code_of(book.commit(2, number, 0, 1, {})), "not_found");
  EXPECT_EQ(code_of(book.commit(1, number, 0, 101, {})), "invalid_argument");
  EXPECT_EQ(code_of(book.commit(1, number + 1, 0, 1, {})), "not_found");
  EXPECT_EQ(code_of(book.close(1, number)), "not_found");
  EXPECT_EQ(code_of(book.give_up(2, number)), "not_found");
  EXPECT_EQ(code_of(book.drop(number, 0)), "not_found");
  EXPECT_EQ(code_of(book.take_returned(3, 1)), "not_found");
  EXPECT_EQ(book, before);
}

TEST(SegmentBook, EachQuotaBindsAlsoAfterTheDeathOfWhoTookIt) {
  SegmentBook book({.bytes = 100, .of_user = 70, .of_process = 50, .segments = 4});
  ASSERT_TRUE(book.join(1, {1, 10}).ok());
  ASSERT_TRUE(book.join(2, {1, 10}).ok());
  ASSERT_TRUE(book.join(3, {1, 20}).ok());
  ASSERT_TRUE(book.join(4, {2, 30}).ok());
  const SegmentNumber first = *book.reserve(1, 30);
  EXPECT_EQ(code_of(book.reserve(2, 21)), "resource_exhausted") << "one process, two members";
  ASSERT_TRUE(book.reserve(2, 20).ok());
  EXPECT_EQ(code_of(book.reserve(3, 21)), "resource_exhausted") << "one user";
  ASSERT_TRUE(book.commit(1, first, 0, 1, {}).ok());
  EXPECT_TRUE(book.end(1).empty());
  EXPECT_EQ(code_of(book.reserve(3, 21)), "resource_exhausted") << "it is still kept";
  ASSERT_TRUE(book.reserve(3, 20).ok());
  EXPECT_EQ(code_of(book.reserve(4, 31)), "resource_exhausted") << "of all";
  ASSERT_TRUE(book.reserve(4, 1).ok());
  EXPECT_EQ(code_of(book.reserve(4, 1)), "resource_exhausted") << "too many";
}

TEST(SegmentBook, ListsWhatIsKeptForPeople) {
  SegmentBook book = two_members();
  const SegmentNumber a = *book.reserve(1, 10), b = *book.reserve(1, 10), c = *book.reserve(2, 10);
  ASSERT_TRUE(book.commit(1, a, 0, 5, {}).ok());
  ASSERT_TRUE(book.commit(2, c, 9, 7, {}).ok());
  ASSERT_TRUE(book.open(2, a, 1).ok());
  EXPECT_TRUE(book.gone(1) == SegmentNumbers{b});
  const auto rows = book.kept(0, 9);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (SegmentStatus{{a, 1, 5, {}}, 10, 0, false, 1}));
  EXPECT_EQ(rows[1], (SegmentStatus{{c, 1, 7, {}}, 10, 9, true, 0}));
  EXPECT_EQ(book.kept(0, 1).size(), 1U);
  EXPECT_EQ(book.kept(a + 1, 9).size(), 1U);
}

}  // namespace
}  // namespace aqua
