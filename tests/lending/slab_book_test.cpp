// SPDX-License-Identifier: Apache-2.0
// The exporter's record: who holds what, and what becomes of it.
#include "lending/slab_book.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/device/contract.hpp"

namespace aqua::lending {
namespace {

using device::fails_with;
using device::succeeds;

class Book : public ::testing::Test {
 protected:
  // The codes that a fetch is answered with; 0 for success.
  std::vector<std::uint32_t> fetch(const ClientId& client, const std::vector<FetchEntry>& entries) {
    std::vector<std::uint32_t> codes;
    for (const ReplyEntry& reply : book_.fetch(client, entries)) codes.push_back(reply.code);
    return codes;
  }
  static FetchEntry ticket(const SlabStatus& slab) {
    return {slab.index, slab.generation, slab.secret};
  }
  [[nodiscard]] const SlabStatus& now(const SlabStatus& slab) const {
    return *book_.find(slab.index);
  }
  void expect_unchanged(const SlabStatus& slab) const {
    EXPECT_EQ(now(slab).generation, slab.generation);
    EXPECT_EQ(now(slab).secret, slab.secret);
    EXPECT_EQ(now(slab).custody, slab.custody);
    EXPECT_EQ(now(slab).holder, slab.holder);
  }
  static constexpr std::uint32_t kGranted = 0;

  SlabBook book_;
  const SlabStatus one_ = book_.add(1000);
  const SlabStatus two_ = book_.add(2000);
  const ClientId alice_ = random_id<ClientTag>();
  const ClientId bob_ = random_id<ClientTag>();
};

TEST_F(Book, ASlabStartsFreeWithASecretOfItsOwn) {
  EXPECT_EQ(one_.custody, Custody::free);
  EXPECT_EQ(one_.generation, 1U);
  EXPECT_FALSE(one_.holder.has_value());
  EXPECT_FALSE(one_.secret.is_nil());
  EXPECT_NE(one_.secret, two_.secret);
  EXPECT_NE(one_.index, two_.index);
}

TEST_F(Book, WhoShowsTheSecretHoldsTheSlab) {
  const auto replies = book_.fetch(alice_, std::array{ticket(one_), ticket(two_)});
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0].code, kGranted);
  EXPECT_EQ(replies[0].bytes, 1000U);
  EXPECT_EQ(replies[1].bytes, 2000U);
  EXPECT_EQ(now(one_).custody, Custody::held);
  EXPECT_EQ(now(one_).holder, alice_);
  EXPECT_EQ(now(one_).generation, 1U);
}

TEST_F(Book, RefusalsSayWhyAndChangeNothing) {
  FetchEntry entry = ticket(one_);
  entry.index = 77;
  EXPECT_EQ(fetch(alice_, {entry}), std::vector{to_reply_code(Code::not_found)});
  for (const std::uint64_t generation : {0U, 2U}) {
    entry = ticket(one_);
    entry.generation = generation;
    EXPECT_EQ(fetch(alice_, {entry}), std::vector{to_reply_code(Code::aborted)});
  }
  entry = ticket(one_);
  entry.secret = two_.secret;
  EXPECT_EQ(fetch(alice_, {entry}), std::vector{to_reply_code(Code::permission_denied)});
  expect_unchanged(one_);
}

TEST_F(Book, ASlabHeldByAnotherIsRefused) {
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_EQ(fetch(bob_, {ticket(one_)}), std::vector{to_reply_code(Code::failed_precondition)});
  EXPECT_EQ(now(one_).holder, alice_);
}

TEST_F(Book, TheHolderMayFetchAgainSinceAReplyCanBeLost) {
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_EQ(now(one_).holder, alice_);
  EXPECT_EQ(now(one_).generation, 1U);
}

TEST_F(Book, OneRefusedEntryRefusesAll) {
  FetchEntry wrong = ticket(two_);
  wrong.secret = one_.secret;
  EXPECT_EQ(fetch(alice_, {ticket(one_), wrong}),
            (std::vector{to_reply_code(Code::aborted), to_reply_code(Code::permission_denied)}));
  expect_unchanged(one_);
  expect_unchanged(two_);
}

TEST_F(Book, AReturnedSlabIsScrubbedBeforeItIsFreeUnderANewSecret) {
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  ASSERT_TRUE(succeeds(book_.give_back(alice_, one_.index, 1)));
  EXPECT_EQ(now(one_).custody, Custody::scrubbing);
  EXPECT_FALSE(now(one_).holder.has_value());
  EXPECT_EQ(fetch(bob_, {ticket(one_)}), std::vector{to_reply_code(Code::aborted)});
  const SlabStatus next = book_.scrubbed(one_.index);
  EXPECT_EQ(next.custody, Custody::free);
  EXPECT_EQ(next.generation, 2U);
  EXPECT_NE(next.secret, one_.secret);
  EXPECT_EQ(fetch(bob_, {ticket(one_)}), std::vector{to_reply_code(Code::aborted)});
  EXPECT_EQ(fetch(bob_, {ticket(next)}), std::vector{kGranted});
}

TEST_F(Book, OnlyTheHolderGivesBackAndOnlyItsGeneration) {
  EXPECT_CODE(Code::permission_denied, book_.give_back(alice_, one_.index, 1)) << "nobody holds it";
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_CODE(Code::permission_denied, book_.give_back(bob_, one_.index, 1));
  EXPECT_CODE(Code::aborted, book_.give_back(alice_, one_.index, 2));
  EXPECT_CODE(Code::not_found, book_.give_back(alice_, 77, 1));
  EXPECT_EQ(now(one_).custody, Custody::held);
  ASSERT_TRUE(succeeds(book_.give_back(alice_, one_.index, 1)));
  EXPECT_CODE(Code::aborted, book_.give_back(alice_, one_.index, 1)) << "twice";
}

TEST_F(Book, TheCoordinatorsWordThatAHolderReturnedEndsTheHold) {
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_TRUE(book_.grant_ended(one_.index, 1, GrantEnd::returned));
  EXPECT_EQ(now(one_).custody, Custody::scrubbing);
  EXPECT_FALSE(now(one_).holder.has_value());
  EXPECT_FALSE(book_.grant_ended(one_.index, 1, GrantEnd::returned)) << "once only";
}

TEST_F(Book, OfAHoldersDeathTheBookWantsItsOwnProof) {
  ASSERT_EQ(fetch(alice_, {ticket(one_)}), std::vector{kGranted});
  EXPECT_FALSE(book_.grant_ended(one_.index, 1, GrantEnd::died));
  EXPECT_EQ(now(one_).custody, Custody::held);
  EXPECT_EQ(book_.holder_dead(alice_), std::vector{one_.index});
  EXPECT_EQ(now(one_).custody, Custody::scrubbing);
}

TEST_F(Book, AGrantThatWasNeverFetchedIsScrubbedSinceItsSecretIsKnown) {
  for (const GrantEnd how : {GrantEnd::returned, GrantEnd::died}) {
    const SlabStatus slab = book_.add(10);
    EXPECT_TRUE(book_.grant_ended(slab.index, 1, how));
    EXPECT_NE(book_.scrubbed(slab.index).secret, slab.secret);
  }
}

TEST_F(Book, WordOfAnOldGenerationIsIgnored) {
  EXPECT_FALSE(book_.grant_ended(one_.index, 0, GrantEnd::returned));
  EXPECT_FALSE(book_.grant_ended(one_.index, 2, GrantEnd::returned));
  EXPECT_FALSE(book_.grant_ended(77, 1, GrantEnd::returned));
  expect_unchanged(one_);
}

TEST_F(Book, ADeadHoldersSlabsAllEndAndNoOthers) {
  const SlabStatus three = book_.add(3000);
  ASSERT_EQ(fetch(alice_, {ticket(one_), ticket(three)}), (std::vector{kGranted, kGranted}));
  ASSERT_EQ(fetch(bob_, {ticket(two_)}), std::vector{kGranted});
  EXPECT_EQ(book_.holder_dead(alice_), (std::vector{one_.index, three.index}));
  EXPECT_EQ(now(two_).holder, bob_);
  EXPECT_TRUE(book_.holder_dead(alice_).empty());
}

TEST_F(Book, OnlyFreeSlabsAreTakenOutAndAllOrNone) {
  ASSERT_EQ(fetch(alice_, {ticket(two_)}), std::vector{kGranted});
  EXPECT_CODE(Code::failed_precondition, book_.remove(std::array{one_.index, two_.index}));
  ASSERT_TRUE(succeeds(book_.give_back(alice_, two_.index, 1)));
  EXPECT_CODE(Code::failed_precondition, book_.remove(std::array{one_.index, two_.index}));
  EXPECT_CODE(Code::not_found, book_.remove(std::array{one_.index, std::uint32_t{77}}));
  EXPECT_CODE(Code::invalid_argument, book_.remove(std::array{one_.index, one_.index}));
  EXPECT_EQ(book_.all().size(), 2U);
  book_.scrubbed(two_.index);
  EXPECT_TRUE(succeeds(book_.remove(std::array{one_.index, two_.index})));
  EXPECT_TRUE(book_.all().empty());
}

TEST_F(Book, AnIndexIsNeverUsedAgain) {
  ASSERT_TRUE(succeeds(book_.remove(std::array{two_.index})));
  EXPECT_GT(book_.add(2000).index, two_.index);
  EXPECT_EQ(fetch(alice_, {ticket(two_)}), std::vector{to_reply_code(Code::not_found)});
}

}  // namespace
}  // namespace aqua::lending
