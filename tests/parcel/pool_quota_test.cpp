// SPDX-License-Identifier: Apache-2.0
// Quotas of a pool's roles: whom each block counts for, and what that keeps from whom.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/parcel/pool_fixture.hpp"

namespace aqua {
namespace {

using test::kDecode, test::kOther, test::kPrefill;

constexpr std::uint32_t kBlocks = 16;

class PoolQuota : public ::testing::Test {
 protected:
  // Prefill may have 6 blocks, the two decodes together 8.
  PoolQuota() {
    EXPECT_TRUE(book_.join(kPrefill, "prefill", 6).ok());
    EXPECT_TRUE(book_.join(kDecode, "decode", 8).ok());
    EXPECT_TRUE(book_.join(kOther, "decode", 3).ok()) << "it has one already: 3 counts for nothing";
  }
  std::size_t granted(MemberNumber member, std::uint32_t most) {
    return book_.grant(member, most)->size();
  }

  PoolBook book_{kBlocks, 4};
};

TEST_F(PoolQuota, IsOfAllMembersOfTheRoleTogether) {
  EXPECT_EQ(book_.quotas().at("prefill"), 6U);
  EXPECT_EQ(book_.quotas().at("decode"), 8U);
  EXPECT_FALSE(book_.quotas().contains("other"));
  EXPECT_EQ(granted(kDecode, 5), 5U);
  EXPECT_EQ(book_.allowed(kOther), 3U);
  EXPECT_EQ(granted(kOther, 5), 3U);
  EXPECT_EQ(granted(kDecode, 1), 0U) << "none is no error";
  EXPECT_EQ(granted(kPrefill, 9), 6U) << "what is free beyond that is for others";
  EXPECT_EQ(book_.free_blocks(), 2U);
  EXPECT_TRUE(book_.join(4, "reader").ok());
  EXPECT_EQ(granted(4, 9), 2U) << "a role without a quota has what is free";
}

// A life of two requests: what counts for whom after each call.
TEST_F(PoolQuota, CountsEachBlockForWhoeverHasIt) {
  std::uint64_t number = 0;
  struct Row {
    const char* call;
    std::function<bool()> make;
    std::uint32_t prefill, decode;
  };
  const auto offer = [&](MemberNumber by, const char* role, const char* id, std::uint64_t turn,
                         Blocks blocks) {
    const auto offered =
        book_.offer(by, role, {.id = id, .turn = turn, .blocks = std::move(blocks), .tokens = 1});
    if (offered.ok()) number = *offered;
    return offered.ok();
  };
  const std::vector<Row> rows{
      {"grant", [&] { return book_.grant(kPrefill, 5).ok(); }, 5, 0},
      {"give back", [&] { return book_.give_back(kPrefill, {4}).ok(); }, 4, 0},
      {"share", [&] { return book_.share(kPrefill, {0}).ok(); }, 4, 0},
      {"share again: it is had twice", [&] { return book_.share(kPrefill, {0}).ok(); }, 4, 0},
      {"give one of them back", [&] { return book_.give_back(kPrefill, {0}).ok(); }, 4, 0},
      {"offer: nobody has taken it",
       [&] {
         return offer(kPrefill, "decode", "r", 1, {0, 1, 2});
       },
       4, 0},
      {"recall", [&] { return book_.recall(kPrefill, number).ok(); }, 4, 0},
      {"offer anew",
       [&] {
         return offer(kPrefill, "decode", "r", 2, {0, 1, 2});
       },
       4, 0},
      {"accept: what is shared is its sharer's",
       [&] { return book_.accept(kDecode, 1)->size() == 1; }, 2, 2},
      {"share of a taken parcel",
       [&] {
         return book_.share(kDecode, {0, 1}).ok();
       },
       2, 3},
      {"the taker's end before it confirms: the giver's",
       [&] {
         book_.end(kDecode);
         return true;
       },
       3, 0},
      {"accept by the next", [&] { return book_.accept(kOther, 1)->size() == 1; }, 2, 1},
      {"confirm", [&] { return book_.confirm(kOther, number).ok(); }, 2, 1},
      {"the taker's end after that: nobody's",
       [&] {
         book_.end(kOther);
         return true;
       },
       2, 0},
      {"a new decode", [&] { return book_.join(4, "decode").ok(); }, 2, 0},
      {"accept by it", [&] { return book_.accept(4, 1)->size() == 1; }, 2, 1},
      {"push back",
       [&] {
         return offer(4, "prefill", "r", 9, {0, 1, 2});
       },
       2, 1},
      {"accept by prefill", [&] { return book_.accept(kPrefill, 1)->size() == 1; }, 3, 0},
      {"gone: its end is not proven",
       [&] {
         book_.gone(kPrefill);
         return true;
       },
       3, 0},
      {"its end before it confirms",
       [&] {
         book_.end(kPrefill);
         return true;
       },
       0, 1},
  };
  for (const Row& row : rows) {
    ASSERT_TRUE(row.make()) << row.call;
    EXPECT_EQ(book_.had_by_role("prefill"), row.prefill) << row.call;
    EXPECT_EQ(book_.had_by_role("decode"), row.decode) << row.call;
  }
}

TEST_F(PoolQuota, NeverRefusesWhatIsThereAlready) {
  ASSERT_EQ(granted(kDecode, 8), 8U);
  ASSERT_EQ(granted(kPrefill, 4), 4U);
  ASSERT_TRUE(
      book_
          .offer(kPrefill, "decode", {.id = "r", .turn = 1, .blocks = {8, 9, 10, 11}, .tokens = 16})
          .ok());
  EXPECT_EQ(book_.allowed(kPrefill), 2U) << "what waits counts for its giver";
  const auto taken = book_.accept(kDecode, 1).value();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(book_.had_by_role("decode"), 12U);
  EXPECT_EQ(book_.allowed(kPrefill), 6U) << "what is taken counts for its taker";
  ASSERT_TRUE(book_.give_back(kDecode, {0, 1, 2}).ok());
  EXPECT_EQ(granted(kDecode, 9), 0U) << "it has 9 of 8";
  ASSERT_TRUE(book_.finish(kDecode, taken[0].number).ok());
  EXPECT_EQ(granted(kDecode, 9), 3U);
}

TEST_F(PoolQuota, MovesBetweenRolesAndOutlivesTheirMembers) {
  ASSERT_EQ(granted(kPrefill, 6), 6U);
  ASSERT_TRUE(book_.move_quota("prefill", "decode", 4).ok());
  EXPECT_EQ(book_.quotas().at("prefill"), 2U);
  EXPECT_EQ(book_.quotas().at("decode"), 12U);
  EXPECT_EQ(book_.had_by_role("prefill"), 6U) << "nothing is taken from it";
  ASSERT_TRUE(book_.give_back(kPrefill, {0, 1, 2, 3}).ok());
  EXPECT_EQ(granted(kPrefill, 1), 0U);
  ASSERT_TRUE(book_.give_back(kPrefill, {4}).ok());
  EXPECT_EQ(granted(kPrefill, 9), 1U);
  EXPECT_EQ(granted(kOther, 16), 12U);
  book_.end(kPrefill);
  ASSERT_TRUE(book_.join(4, "prefill", 6).ok());
  EXPECT_EQ(book_.quotas().at("prefill"), 2U) << "as it was moved, and not as its successor says";
}

TEST_F(PoolQuota, RefusesWhatCannotBeAndChangesNothing) {
  const PoolBook before = book_;
  EXPECT_EQ(code_of(book_.join(4, "reader", kBlocks + 1)), "invalid_argument");
  EXPECT_EQ(code_of(book_.join(kPrefill, "prefill", 2)), "already_exists");
  EXPECT_EQ(code_of(book_.move_quota("prefill", "decode", 0)), "invalid_argument");
  EXPECT_EQ(code_of(book_.move_quota("prefill", "prefill", 1)), "invalid_argument");
  EXPECT_EQ(code_of(book_.move_quota("reader", "decode", 1)), "not_found");
  EXPECT_EQ(code_of(book_.move_quota("prefill", "reader", 1)), "not_found");
  EXPECT_EQ(code_of(book_.move_quota("prefill", "decode", 6)), "resource_exhausted");
  EXPECT_EQ(book_.allowed(4), 0U) << "no member";
  EXPECT_EQ(book_, before);
}

TEST_F(PoolQuota, OfOneRoleMoreThanMayBeIsRefused) {
  MemberNumber member = 10;
  for (std::size_t roles = 2; roles < PoolBook::kMostQuotas; ++roles) {
    ASSERT_TRUE(book_.join(++member, "r" + std::to_string(roles), 1).ok());
  }
  EXPECT_EQ(code_of(book_.join(++member, "one more", 1)), "resource_exhausted");
  EXPECT_EQ(book_.quotas().size(), PoolBook::kMostQuotas);
  EXPECT_TRUE(book_.join(member, "one more").ok()) << "without a quota it may";
  EXPECT_TRUE(book_.join(++member, "decode", 1).ok()) << "as may one whose role has one";
}

}  // namespace
}  // namespace aqua
