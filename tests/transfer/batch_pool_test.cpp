// SPDX-License-Identifier: Apache-2.0
#include "transfer/batch_pool.hpp"

#include <gtest/gtest.h>

namespace aqua::transfer {
namespace {

TEST(BatchPool, AListComesBackWithItsEntriesWhenTheLastHolderLetsGo) {
  const auto pool = std::make_shared<BatchPool>();
  EXPECT_TRUE(pool->take().empty());
  auto batch = pool->share(BatchPool::List(100));
  const auto* entries = batch->data();
  auto held = batch;
  batch.reset();
  EXPECT_TRUE(pool->take().empty()) << "somebody holds it";
  held.reset();
  const BatchPool::List again = pool->take();
  EXPECT_EQ(again.data(), entries);
  EXPECT_EQ(again.size(), 100U);
  EXPECT_TRUE(pool->take().empty()) << "it was one";
}

TEST(BatchPool, WhatIsKeptIsBounded) {
  const auto pool = std::make_shared<BatchPool>();
  constexpr std::size_t kHalf = std::size_t{1} << 17;
  std::vector<device::CopyBatch> batches;
  for (int i = 0; i < 4; ++i) batches.push_back(pool->share(BatchPool::List(kHalf)));
  batches.clear();
  EXPECT_EQ(pool->take().size(), kHalf);
  EXPECT_EQ(pool->take().size(), kHalf);
  EXPECT_TRUE(pool->take().empty());
}

TEST(BatchPool, ABatchMayOutliveItsOwner) {
  auto pool = std::make_shared<BatchPool>();
  const auto batch = pool->share(BatchPool::List(3));
  pool.reset();
  EXPECT_EQ(batch->size(), 3U);
}

}  // namespace
}  // namespace aqua::transfer
