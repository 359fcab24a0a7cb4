// SPDX-License-Identifier: Apache-2.0
#include "base/shallow_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace aqua {
namespace {

TEST(ShallowJson, IsParsedUpToTheDepthAndDiscardedBeyond) {
  EXPECT_TRUE(parse_shallow("[[1]]", 2).is_array());
  EXPECT_TRUE(parse_shallow("[[1]]", 1).is_discarded());
  EXPECT_TRUE(parse_shallow(R"({"a":[{}]})", 3).is_object());
  EXPECT_TRUE(parse_shallow(R"({"a":[{}]})", 2).is_discarded());
  EXPECT_TRUE(parse_shallow(std::string(1'000'000, '[')).is_discarded());
}

TEST(ShallowJson, BracketsInTextsNestNothing) {
  EXPECT_EQ(parse_shallow(R"(["[[[[", "\"[[[[", "\\", "]"])", 1).size(), 4U);
  EXPECT_TRUE(parse_shallow(R"(["\\", [[1]]])", 2).is_discarded()) << "a text that has ended";
}

TEST(ShallowJson, WhatIsNoJsonIsDiscarded) {
  for (const char* text : {"", "]", "[", "[1", "{\"a\"}", "\"\\", "[1]]", "{]"}) {
    EXPECT_TRUE(parse_shallow(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace aqua
