// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/batch_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace aqua::profiler {
namespace {

TEST(BatchSearch, StopsWhereThroughputSaturates) {
  BatchSearch search(1024);
  while (const auto batch = search.next())
    search.told(std::min(10.0 * static_cast<double>(*batch), 80.0));
  EXPECT_EQ(search.best(), 8u);
  EXPECT_DOUBLE_EQ(search.throughput(), 80);
  EXPECT_TRUE(search.saturated());
}

TEST(BatchSearch, StopsAtTheLargestBatchAllowed) {
  BatchSearch search(5);
  while (const auto batch = search.next()) search.told(static_cast<double>(*batch));
  EXPECT_EQ(search.best(), 4u);
  EXPECT_FALSE(search.saturated());
}

TEST(BatchSearch, TakesTheSmallerOfTwoThatAreAlike) {
  BatchSearch search(64);
  search.told(100);
  search.told(105);
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.best(), 1u);
}

}  // namespace
}  // namespace aqua::profiler
