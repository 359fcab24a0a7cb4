// SPDX-License-Identifier: Apache-2.0
// What its giver may have back of a parcel, and whose its blocks are then.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parcel/pool_book.hpp"

namespace aqua {
namespace {

constexpr MemberNumber kPrefill = 1, kDecode = 2, kOther = 3;

template <typename T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : std::string(to_string(result.error().code));
}

class Recalled : public ::testing::Test {
 protected:
  Recalled() {
    EXPECT_TRUE(book_.join(kPrefill, "prefill").ok());
    EXPECT_TRUE(book_.join(kDecode, "decode").ok());
    EXPECT_TRUE(book_.join(kOther, "decode").ok());
  }
  std::uint64_t offer(const std::string& id, const Blocks& blocks) {
    return book_.offer(kPrefill, "decode", {.id = id, .turn = 10, .blocks = blocks}).value();
  }
  Blocks grant(MemberNumber member, std::uint32_t count) {
    return book_.grant(member, count).value();
  }
  std::vector<Parcel> accept(MemberNumber member) { return book_.accept(member, 9).value(); }

  PoolBook book_{8, 4};
};

TEST_F(Recalled, ItsBlocksAreItsGiversAgain) {
  const Blocks own = grant(kPrefill, 3);
  ASSERT_TRUE(book_.share(kPrefill, {own[0]}).ok());
  const std::uint64_t number = offer("r", own);
  EXPECT_EQ(code_of(book_.recall(kDecode, number)), "not_found");
  ASSERT_TRUE(book_.recall(kPrefill, number).ok());
  EXPECT_TRUE(accept(kDecode).empty());
  EXPECT_TRUE(book_.give_back(kPrefill, own).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 7, .shared = 1})) << "which it had by itself, too";
  EXPECT_TRUE(book_.give_back(kPrefill, {own[0]}).ok());
  offer("s", grant(kPrefill, 1));
  const std::uint64_t taken = accept(kDecode).at(0).number;
  EXPECT_EQ(code_of(book_.recall(kPrefill, taken)), "failed_precondition");
}

TEST_F(Recalled, WhatATakerHasHadIsNotAlsoWhenItWaitsAgain) {
  const Blocks prompt = grant(kPrefill, 2);
  const std::uint64_t number = offer("r", prompt);
  ASSERT_EQ(accept(kDecode).size(), 1U);
  ASSERT_TRUE(book_.share(kDecode, prompt).ok());
  const std::uint64_t anew = book_.open(kPrefill, "decode", {"r", 99}).value();
  ASSERT_TRUE(book_.finish(kDecode, number).ok());
  EXPECT_EQ(code_of(book_.recall(kPrefill, number)), "failed_precondition") << "another reads it";
  ASSERT_TRUE(book_.recall(kPrefill, anew).ok());
  ASSERT_EQ(accept(kOther).at(0).number, number);
  book_.end(kOther, /*is_quiet=*/false);
  EXPECT_EQ(code_of(book_.recall(kPrefill, number)), "failed_precondition")
      << "what is dead may still write it";
  EXPECT_EQ(book_.had_by_role("prefill"), 0U);
  ASSERT_TRUE(book_.cancel("r").ok());
  ASSERT_TRUE(book_.give_back(kDecode, prompt).ok());
  EXPECT_EQ(book_.counts(), (PoolCounts{.free = 6, .quarantined = 2}));
}

}  // namespace
}  // namespace aqua
