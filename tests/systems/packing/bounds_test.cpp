// SPDX-License-Identifier: Apache-2.0
#include "aqua/packing/bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "systems/packing/decide/bound_index.hpp"

namespace aqua::packing::test {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Bounds, AreExactWhereItIsEasy) {
  EXPECT_EQ(lower_bound({}, 10).value(), 0U);
  EXPECT_EQ(lower_bound(Sizes{10, 10}, 10).value(), 2U);
  EXPECT_EQ(lower_bound(Sizes{6, 6, 6}, 10).value(), 3U) << "none beside another";
  EXPECT_EQ(lower_bound(Sizes{7, 7, 4, 4, 4}, 10).value(), 4U) << "4 does not go beside 7";
  EXPECT_EQ(lower_bound(Sizes{5, 5, 5, 5}, 10).value(), 2U);
  EXPECT_EQ(lower_bound(Sizes{0, 0}, 10).value(), 0U);
}

TEST(Bounds, WhatCannotBeIsNamed) {
  for (const auto& result : {lower_bound(Sizes{1}, 0), lower_bound(Sizes{11}, 10)}) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::invalid_argument);
  }
  EXPECT_NE(pack_offline(Sizes{11}, 10).error().message.find("a size of 11"), std::string::npos);
}

// Between the bounds is the best packing; and the index answers no more than L2, and not much less.
TEST(Bounds, BracketAPacking) {
  std::uint64_t below = 0, total = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t capacity = 50 + random() % 2000;
    Sizes sizes(random() % 60);
    const std::uint64_t most = std::max<std::uint64_t>(1, capacity / (1 + seed % 4));
    for (std::uint64_t& size : sizes) size = random() % (most + 1);
    const std::uint64_t bound = lower_bound(sizes, capacity).value();
    const OfflinePacking packing = pack_offline(sizes, capacity).value();
    EXPECT_LE(bound, packing.bins);
    EXPECT_LE(9 * packing.bins, 11 * std::max<std::uint64_t>(bound, 1) * 3 / 2 + 36);
    std::map<std::uint64_t, std::uint64_t> held;
    for (std::size_t i = 0; i < sizes.size(); ++i) held[packing.bin_of[i]] += sizes[i];
    for (const auto& [bin, sum] : held) EXPECT_LE(sum, capacity);
    EXPECT_EQ(held.size(), packing.bins);

    BoundIndex index;
    index.reset(capacity);
    for (const std::uint64_t size : sizes) index.add(size);
    EXPECT_LE(index.value(), bound) << "seed " << seed;
    below += bound - index.value();
    total += bound;
    const std::uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    EXPECT_GE(index.value(), (sum + capacity - 1) / capacity);
    for (const std::uint64_t size : sizes) index.remove(size);
    EXPECT_EQ(index.value(), 0U);
  }
  EXPECT_LT(50 * below, total) << "thresholds at 64ths lose little";
}

}  // namespace
}  // namespace aqua::packing::test
