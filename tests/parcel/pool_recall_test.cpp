// SPDX-License-Identifier: Apache-2.0
// What its giver may have back of a parcel, and whose its blocks are then.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/parcel/pool_fixture.hpp"

namespace aqua {
namespace {

using test::kDecode, test::kOther, test::kPrefill;

class Recalled : public test::WithPool {};

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
