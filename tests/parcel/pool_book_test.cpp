// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_book.hpp"

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "tests/parcel/pool_fixture.hpp"

namespace aqua {
namespace {

using test::kDecode, test::kOther, test::kPrefill;

class Pool : public test::WithPool {};

TEST_F(Pool, APromptGoesFromPrefillToDecodeAndItsBlocksAreFreeAfterIt) {
  const Blocks blocks = grant(kPrefill, 3);
  EXPECT_EQ(blocks, (Blocks{0, 1, 2}));
  const Parcel parcel{.id = "r", .turn = 1, .blocks = {2, 0, 1}, .tokens = 40, .note = "t"};
  const std::uint64_t number = book_.offer(kPrefill, "decode", parcel).value();
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 5, .offered = 3}));
  EXPECT_EQ(code_of(book_.give_back(kPrefill, {0})), "invalid_argument") << "no more its own";
  const auto taken = accept(kDecode);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].number, number);
  EXPECT_EQ(taken[0].blocks, parcel.blocks) << "in the order of its tokens";
  EXPECT_EQ(taken[0].note, "t");
  EXPECT_TRUE(accept(kOther).empty()) << "once";
  EXPECT_EQ(code_of(book_.finish(kOther, number)), "not_found");
  EXPECT_EQ(code_of(book_.give_back(kDecode, {0})), "failed_precondition");
  EXPECT_TRUE(book_.finish(kDecode, number).ok());
  EXPECT_EQ(code_of(book_.finish(kDecode, number)), "not_found") << "twice";
  EXPECT_EQ(book_.counts(), PoolCounts{.free = 8});
}

TEST_F(Pool, AParcelOutlivesItsGiver) {
  offer("r", grant(kPrefill, 2));
  grant(kPrefill, 2);
  book_.end(kPrefill);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .offered = 2}));
  EXPECT_EQ(accept(kDecode).size(), 1U);
}

TEST_F(Pool, WhatADeadTakerHadNotFinishedWaitsForTheNext) {
  const std::uint64_t first = offer("a", grant(kPrefill, 1));
  const std::uint64_t second = offer("b", grant(kPrefill, 1));
  ASSERT_EQ(accept(kDecode).size(), 2U);
  grant(kDecode, 2);  // appended
  EXPECT_TRUE(book_.finish(kDecode, second).ok());
  book_.gone(kDecode);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 5, .orphaned = 3})) << "it may write on";
  EXPECT_TRUE(accept(kOther).empty());
  book_.end(kDecode);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .offered = 1}));
  const auto again = accept(kOther);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].number, first);
}

TEST_F(Pool, WhoIsGoneCanDoNothing) {
  book_.gone(kPrefill);
  EXPECT_EQ(code_of(book_.grant(kPrefill, 1)), "not_found");
  EXPECT_EQ(code_of(book_.offer(kPrefill, "decode", {.id = "r"})), "not_found");
  EXPECT_EQ(code_of(book_.grant(77, 1)), "not_found");
  book_.end(77);
  EXPECT_EQ(code_of(book_.join(kDecode, "decode")), "already_exists");
}

TEST_F(Pool, WhoWaitsForBlocksAndIsGoneHoldsNobodyUp) {
  grant(kPrefill, 5);
  EXPECT_EQ(code_of(book_.grant(kDecode, 9, 9)), "invalid_argument") << "more than there are";
  EXPECT_TRUE(book_.grant(kDecode, 4, 4)->empty());
  EXPECT_TRUE(grant(kOther, 1).empty()) << "a reserve";
  EXPECT_TRUE(book_.take_served().empty());
  book_.gone(kDecode);
  EXPECT_EQ(book_.take_served(), std::vector{kOther});
  EXPECT_EQ(grant(kOther, 1).size(), 1U);
}

TEST_F(Pool, TheHigherTurnWins) {
  offer("r", grant(kPrefill, 1), 2);
  const Blocks more = grant(kPrefill, 1);
  for (const std::uint64_t turn : {1U, 2U}) {
    EXPECT_EQ(code_of(book_.offer(kPrefill, "decode", {.id = "r", .turn = turn, .blocks = more})),
              "aborted");
  }
  const std::uint64_t higher = offer("r", more, 3);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .offered = 1})) << "the older one went";
  const auto taken = accept(kDecode);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].number, higher);
  // One that is taken is not taken away, but waits no more when its taker dies.
  EXPECT_EQ(taken[0].turn, 4U) << "to take it is a turn";
  offer("r", grant(kPrefill, 1), 5);
  EXPECT_EQ(book_.take_news(kDecode),
            (std::vector{ParcelNews{higher, ParcelEvent::taken_superseded}}));
  EXPECT_EQ(code_of(book_.confirm(kDecode, higher)), "aborted");
  EXPECT_EQ(code_of(book_.offer(kDecode, "decode", {.id = "r", .turn = 99})), "aborted")
      << "it may only finish it";
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .owned = 1, .offered = 1}));
  book_.end(kDecode);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .offered = 1}));
}

TEST_F(Pool, ATakerHandsOnWhatItTookWithWhatItAppended) {
  const Blocks prompt = grant(kPrefill, 2);
  const std::uint64_t first = offer("r", prompt, 1);
  ASSERT_EQ(accept(kDecode).size(), 1U);
  const Blocks appended = grant(kDecode, 1);
  Blocks all = prompt;
  all.push_back(appended[0]);
  EXPECT_EQ(code_of(book_.offer(kOther, "prefill", {.id = "r", .turn = 3, .blocks = all})),
            "invalid_argument");
  ASSERT_TRUE(book_.offer(kDecode, "prefill", {.id = "r", .turn = 3, .blocks = all}).ok());
  EXPECT_EQ(code_of(book_.finish(kDecode, first)), "not_found") << "it ended by that";
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 5, .offered = 3}));
  EXPECT_EQ(accept(kPrefill).at(0).blocks, all);
}

TEST_F(Pool, WhatIsNotCarriedOverIsLetGoOf) {
  const Blocks prompt = grant(kPrefill, 3);
  offer("r", prompt, 1);
  ASSERT_EQ(accept(kDecode).size(), 1U);
  ASSERT_TRUE(book_.offer(kDecode, "decode", {.id = "r", .turn = 3, .blocks = {prompt[1]}}).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .offered = 1}));
}

TEST_F(Pool, APrefixIsInManyParcelsAndGoesWithTheLast) {
  const Blocks prefix = grant(kPrefill, 2);
  ASSERT_TRUE(book_.share(kPrefill, prefix).ok());
  const std::uint64_t a = offer("a", {prefix[0], prefix[1], grant(kPrefill, 1)[0]});
  const std::uint64_t b = offer("b", {prefix[0], prefix[1], grant(kPrefill, 1)[0]});
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 4, .offered = 2, .shared = 2}));
  EXPECT_TRUE(book_.give_back(kPrefill, prefix).ok());
  EXPECT_EQ(code_of(book_.give_back(kPrefill, prefix)), "invalid_argument");
  ASSERT_EQ(accept(kDecode).size(), 2U);
  ASSERT_TRUE(book_.share(kDecode, {prefix[0]}).ok()) << "the taker keeps some of it";
  EXPECT_TRUE(book_.finish(kDecode, a).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 5, .owned = 1, .shared = 2}));
  EXPECT_TRUE(book_.finish(kDecode, b).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .shared = 1}));
  EXPECT_TRUE(book_.give_back(kDecode, {prefix[0]}).ok());
  EXPECT_EQ(book_.counts(), PoolCounts{.free = 8});
}

TEST_F(Pool, OnlyWhatWaitsIsCancelled) {
  offer("r", grant(kPrefill, 2));
  EXPECT_EQ(code_of(book_.cancel("x")), "not_found");
  EXPECT_TRUE(book_.cancel("r").ok());
  EXPECT_EQ(book_.counts(), PoolCounts{.free = 8});
  offer("r", grant(kPrefill, 2));
  ASSERT_EQ(accept(kDecode).size(), 1U);
  EXPECT_EQ(code_of(book_.cancel("r")), "failed_precondition") << "it may wait again";
}

// To take it has raised its turn, which says nothing about when it was given.
TEST_F(Pool, WhatWasGivenUnderAHigherTurnIsNotCancelled) {
  offer("r", grant(kPrefill, 2), 5);
  EXPECT_EQ(code_of(book_.cancel("r", 4)), "not_found");
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .offered = 2}));
  ASSERT_EQ(accept(kDecode).size(), 1U);
  book_.end(kDecode);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .offered = 2}));
  EXPECT_TRUE(book_.cancel("r", 5).ok());
  EXPECT_EQ(book_.counts(), PoolCounts{.free = 8});
}

TEST_F(Pool, WordsThatCannotBeAreRefused) {
  const auto refused = [&](const std::string& role, const Parcel& parcel) {
    return code_of(book_.offer(kPrefill, role, parcel));
  };
  EXPECT_EQ(refused("", {.id = "r"}), "invalid_argument");
  EXPECT_EQ(refused("decode", {.id = ""}), "invalid_argument");
  EXPECT_EQ(refused("decode", {.id = "a\nb"}), "invalid_argument");
  EXPECT_EQ(refused("decode", {.id = std::string(257, 'r')}), "invalid_argument");
  EXPECT_EQ(refused("decode", {.id = "r", .note = std::string(4097, '\0')}), "invalid_argument");
  EXPECT_EQ(refused("decode", {.id = "r", .note = std::string(4096, '\0')}), "ok");
  EXPECT_EQ(code_of(book_.join(9, std::string(129, 'r'))), "invalid_argument");
}

TEST_F(Pool, ParcelsAreBounded) {
  for (std::size_t i = 0; i < ParcelBook::kMostParcels; ++i) {
    ASSERT_TRUE(book_.offer(kPrefill, "decode", {.id = std::to_string(i)}).ok());
  }
  EXPECT_EQ(code_of(book_.offer(kPrefill, "decode", {.id = "more"})), "resource_exhausted");
  EXPECT_EQ(accept(kDecode).at(0).id, "0") << "the oldest first";
}

TEST_F(Pool, KnowsWhatItsParcelsAndSharedBlocksTake) {
  const Blocks own = grant(kPrefill, 2);
  EXPECT_EQ(book_.bytes(), 0U);
  ASSERT_TRUE(book_.share(kPrefill, own).ok());
  EXPECT_EQ(book_.bytes(), 2 * PoolBook::kSharingBytes);
  ASSERT_TRUE(book_.share(kPrefill, own).ok());
  EXPECT_EQ(book_.bytes(), 2 * PoolBook::kSharingBytes) << "had twice, in one entry";
  for (const char* const id : {"a", "b"}) {
    const Parcel parcel{.id = id, .turn = 1, .blocks = own, .note = "123"};
    ASSERT_TRUE(book_.offer(kPrefill, "decode", parcel).ok());
  }
  const std::uint64_t opened = book_.open(kPrefill, "decode", {"c", 1}).value();
  EXPECT_EQ(book_.bytes(), 3 * PoolBook::kParcelBytes + 6 + 6 * PoolBook::kSharingBytes);
  ASSERT_TRUE(book_.recall(kPrefill, opened).ok());
  for (const Parcel& taken : accept(kDecode)) {
    ASSERT_TRUE(book_.share(kDecode, taken.blocks).ok());
    ASSERT_TRUE(book_.finish(kDecode, taken.number).ok());
  }
  EXPECT_EQ(book_.bytes(), 4 * PoolBook::kSharingBytes) << "of giver and taker";
  book_.end(kPrefill);
  book_.end(kDecode);
  EXPECT_EQ(book_.bytes(), 0U);
}

TEST_F(Pool, TurnsOutliveTheirParcels) {
  ASSERT_TRUE(book_.finish(kDecode, (offer("r", {}, 7), accept(kDecode).at(0).number)).ok());
  EXPECT_EQ(book_.parcels().size(), 0U);
  EXPECT_EQ(code_of(book_.offer(kPrefill, "decode", {.id = "r", .turn = 8})), "aborted")
      << "its taker spoke under that";
  EXPECT_EQ(code_of(book_.offer(kPrefill, "decode", {.id = "r", .turn = 9})), "ok");
}

TEST_F(Pool, AParcelIsOpenBeforeItHasBlocks) {
  const Blocks own = grant(kPrefill, 2);
  const std::uint64_t number = book_.open(kPrefill, "decode", {"r", 1}).value();
  EXPECT_TRUE(accept(kDecode).empty());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .owned = 2}));
  EXPECT_EQ(code_of(book_.close(kPrefill, number, {.id = "r", .blocks = {7}})), "invalid_argument");
  ASSERT_TRUE(book_.close(kPrefill, number, {.id = "r", .blocks = own, .tokens = 8}).ok());
  const auto taken = accept(kDecode);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].blocks, own);
  ASSERT_TRUE(book_.confirm(kDecode, number).ok());
  EXPECT_EQ(book_.take_news(kPrefill), (std::vector{ParcelNews{number, ParcelEvent::confirmed}}));
}

TEST_F(Pool, WhatTheDeadMayStillWriteIsNobodysUntilItIsReleased) {
  const Blocks prompt = grant(kPrefill, 4);
  ASSERT_TRUE(book_.share(kPrefill, {prompt[0]}).ok());
  ASSERT_TRUE(book_.offer(kPrefill, "decode", {.id = "r", .blocks = prompt, .tokens = 10}).ok());
  ASSERT_EQ(accept(kDecode).size(), 1U);
  grant(kDecode, 2);  // appended
  book_.end(kDecode, /*is_quiet=*/false);
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 2, .offered = 3, .shared = 1, .quarantined = 2}));
  const auto again = accept(kOther);
  ASSERT_EQ(again.size(), 1U) << "the prompt is not lost";
  EXPECT_TRUE(again[0].tail_in_doubt) << "10 tokens end within the third block";
  EXPECT_TRUE(book_.finish(kOther, again[0].number).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 3, .shared = 1, .quarantined = 4}));
  EXPECT_EQ(book_.release_quarantined(), 4U);
  EXPECT_EQ(grant(kOther, 9).size(), 7U);
}

TEST_F(Pool, WhatADeadTakerWroteAndThenSharedIsInDoubtToo) {
  const Blocks prompt = grant(kPrefill, 2);
  ASSERT_TRUE(book_.offer(kPrefill, "decode", {.id = "r", .blocks = prompt, .tokens = 6}).ok());
  ASSERT_EQ(accept(kDecode).size(), 1U);
  ASSERT_TRUE(book_.share(kDecode, prompt).ok());  // it has appended to the second one
  book_.end(kDecode, /*is_quiet=*/false);
  const auto again = accept(kOther);
  EXPECT_TRUE(again.at(0).tail_in_doubt);
  ASSERT_TRUE(book_.finish(kOther, again[0].number).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .quarantined = 1}));
}

TEST_F(Pool, WhatLiesBeforeTheTokensEndIsNotInDoubt) {
  const Blocks prompt = grant(kPrefill, 2);
  ASSERT_TRUE(book_.offer(kPrefill, "decode", {.id = "r", .blocks = prompt, .tokens = 8}).ok());
  ASSERT_EQ(accept(kDecode).size(), 1U);
  book_.end(kDecode, /*is_quiet=*/false);
  EXPECT_FALSE(accept(kOther).at(0).tail_in_doubt);
}

// Each kind of block that there is, and what each call says of one.
struct Cell {
  const char* block;
  const char* give_back;
  const char* share;
  const char* offer;
};
void PrintTo(const Cell& cell, std::ostream* to) {
  *to << cell.block;
}

class PoolCell : public ::testing::TestWithParam<Cell> {};
INSTANTIATE_TEST_SUITE_P(
    Blocks, PoolCell,
    ::testing::Values(
        Cell{"Free", "invalid_argument", "invalid_argument", "invalid_argument"},
        Cell{"Own", "ok", "ok", "ok"},
        Cell{"Anothers", "invalid_argument", "invalid_argument", "invalid_argument"},
        Cell{"Offered", "invalid_argument", "invalid_argument", "invalid_argument"},
        Cell{"Taken", "failed_precondition", "ok", "invalid_argument"},
        Cell{"TakenByAnother", "invalid_argument", "invalid_argument", "invalid_argument"},
        Cell{"Shared", "ok", "ok", "ok"},
        Cell{"SharedByOthers", "invalid_argument", "invalid_argument", "invalid_argument"},
        Cell{"SharedAndTaken", "failed_precondition", "ok", "invalid_argument"},
        Cell{"Beyond", "invalid_argument", "invalid_argument", "invalid_argument"}),
    [](const auto& cell) { return std::string(cell.param.block); });

TEST_P(PoolCell, IsWhatEachCallSaysItIs) {
  constexpr MemberNumber kGiver = 1, kMe = 2, kAnother = 3;
  PoolBook book(16);
  ASSERT_TRUE(book.join(kGiver, "giver").ok());
  ASSERT_TRUE(book.join(kMe, "taker").ok());
  const auto give = [&](const std::string& id, const Blocks& blocks) {
    ASSERT_TRUE(book.offer(kGiver, "taker", {.id = id, .turn = 1, .blocks = blocks}).ok());
  };
  const auto block_of = [&](MemberNumber member) { return book.grant(member, 1).value()[0]; };
  std::map<std::string, std::uint32_t> blocks{{"Beyond", 16}};
  blocks["Own"] = block_of(kMe);
  blocks["Anothers"] = block_of(kGiver);
  give("taken", {blocks["Taken"] = block_of(kGiver)});
  const std::uint32_t prefix = blocks["SharedAndTaken"] = block_of(kGiver);
  ASSERT_TRUE(book.share(kGiver, {prefix}).ok());
  give("taken, with a prefix", {prefix});
  ASSERT_EQ(book.accept(kMe, 9)->size(), 2U);
  give("taken by another", {blocks["TakenByAnother"] = block_of(kGiver)});
  ASSERT_TRUE(book.join(kAnother, "taker").ok());
  ASSERT_EQ(book.accept(kAnother, 9)->size(), 1U);
  give("offered", {blocks["Offered"] = block_of(kGiver)});
  ASSERT_TRUE(book.share(kMe, {blocks["Shared"] = block_of(kMe)}).ok());
  ASSERT_TRUE(book.share(kGiver, {blocks["SharedByOthers"] = block_of(kGiver)}).ok());
  blocks["Free"] = 15;

  const Blocks named{blocks.at(GetParam().block)};
  const auto on_a_copy = [&](const auto& call) {
    PoolBook copy = book;
    std::string said = code_of(call(copy));
    EXPECT_TRUE(said == "ok" || copy == book) << "a refusal changes nothing";
    return said;
  };
  EXPECT_EQ(on_a_copy([&](PoolBook& b) { return b.give_back(kMe, named); }), GetParam().give_back);
  EXPECT_EQ(on_a_copy([&](PoolBook& b) { return b.share(kMe, named); }), GetParam().share);
  EXPECT_EQ(on_a_copy([&](PoolBook& b) {
              return b.offer(kMe, "giver", {.id = "new", .turn = 1, .blocks = named});
            }),
            GetParam().offer);
  const Blocks twice{named[0], named[0]};
  EXPECT_EQ(on_a_copy([&](PoolBook& b) { return b.give_back(kMe, twice); }), "invalid_argument");
}

}  // namespace
}  // namespace aqua
