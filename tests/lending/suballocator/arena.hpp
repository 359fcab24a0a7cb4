// SPDX-License-Identifier: Apache-2.0
// What both kinds of test of the suballocator make: an arena of a known granule.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "lending/suballocator.hpp"

namespace aqua::lending::arena_of_regions {

inline constexpr std::size_t kGranule = 512;
inline constexpr std::size_t kArenaSlab = 64 * kGranule;

inline Suballocator make(std::size_t capacity, std::size_t alignment = kGranule) {
  auto made = Suballocator::create(capacity, {.alignment = alignment, .expected_blocks = 16});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

inline void expect_code(const Result<void>& result, Code code) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
}

}  // namespace aqua::lending::arena_of_regions
