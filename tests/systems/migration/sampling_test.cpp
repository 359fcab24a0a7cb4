// SPDX-License-Identifier: Apache-2.0
// The number for a position hangs on seed and position alone, and is that of Philox.
#include "aqua/migration/sampling.hpp"

#include <gtest/gtest.h>

#include <set>

namespace aqua::migration::test {
namespace {

// The answers are those of the reference implementation (Random123, kat_vectors).
TEST(Sampling, HasTheAnswersOfTheReference) {
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kAll, kAll, kAll, kAll}, {kAll, kAll}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Sampling, IsKnownWhenItIsCompiled) {
  static_assert(uniform(1, 2) == uniform(1, 2));
  static_assert(uniform(0, 0) == static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
}

TEST(Sampling, DiffersBySeedPositionAndDraw) {
  std::set<double> seen;
  for (std::uint64_t seed : {0UL, 1UL, 1UL << 40}) {
    for (std::uint64_t position : {0UL, 1UL, 1UL << 40}) {
      for (std::uint64_t draw : {0UL, 1UL, 1UL << 40}) seen.insert(uniform(seed, position, draw));
    }
  }
  EXPECT_EQ(seen.size(), 27U);
}

TEST(Sampling, IsUniform) {
  constexpr int kMany = 100'000;
  int tenths[10] = {};
  double sum = 0;
  for (int i = 0; i < kMany; ++i) {
    const double number = uniform(42, static_cast<Position>(i));
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    tenths[static_cast<int>(number * 10)] += 1;
    sum += number;
  }
  EXPECT_NEAR(sum / kMany, 0.5, 0.005);
  for (const int count : tenths) EXPECT_NEAR(count, kMany / 10, 500);
}

}  // namespace
}  // namespace aqua::migration::test
