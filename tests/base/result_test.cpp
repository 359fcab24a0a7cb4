// SPDX-License-Identifier: Apache-2.0
#include "aqua/result.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace aqua {
namespace {

// `if (ticket.done())` would go on while the transfer runs.
static_assert(!std::is_constructible_v<bool, Result<bool>>);
static_assert(std::is_constructible_v<bool, Result<int>>);
static_assert(std::is_constructible_v<bool, Result<void>>);

TEST(Result, OfABoolTellsTheAnswerFromWhetherThereIsOne) {
  const Result<bool> no = false;
  EXPECT_TRUE(no.ok());
  EXPECT_FALSE(*no);
  const Result<bool> unknown = Error{Code::unavailable, "nobody answers"};
  EXPECT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::unavailable);
}

}  // namespace
}  // namespace aqua
