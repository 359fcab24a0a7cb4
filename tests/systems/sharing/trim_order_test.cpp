// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/trim_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace aqua::sharing {
namespace {

const std::string kHere(32, '1'), kThere(32, '2'), kHost(32, '3');

ModelCopy copy(const std::string& model, std::uint64_t last_used, std::uint32_t shard = 0,
               std::uint32_t shards = 1) {
  return {.model = model,
          .version = "1",
          .shard = shard,
          .shards = shards,
          .device = kHere,
          .bytes = 10,
          .last_used = last_used};
}
ModelCopy in_host_memory(ModelCopy of) {
  of.device = kHost;
  of.spare = true;
  return of;
}
std::vector<std::string> models(const std::vector<ModelCopy>& copies) {
  const auto order = trim_order(copies, kHere);
  std::vector<std::string> names(order.size());
  std::ranges::transform(order, names.begin(), &Unread::model);
  return names;
}
using Names = std::vector<std::string>;

TEST(TrimOrder, IsThatOfTheLastUses) {
  EXPECT_EQ(models({copy("a", 3), copy("b", 1), copy("c", 2)}), (Names{"b", "c", "a"}));
  EXPECT_EQ(models({}), Names{});
}

TEST(TrimOrder, IsOfWhatIsOnTheDeviceUnreadAndNotSuperseded) {
  ModelCopy elsewhere = copy("elsewhere", 1), read = copy("read", 1), filling = copy("filling", 1),
            superseded = copy("superseded", 1), unknown = copy("unknown", 1);
  unknown.readers_unknown = true;
  elsewhere.device = kThere;
  read.readers = 1;
  filling.filling = true;
  superseded.superseded = true;
  EXPECT_EQ(models({elsewhere, read, filling, superseded, unknown, copy("lacks shards", 1, 0, 2),
                    copy("a", 9)}),
            Names{"a"});
}

TEST(TrimOrder, ShardsOfOneVersionGoTogether) {
  ModelCopy read = copy("half read", 1, 1, 2);
  read.readers = 1;
  EXPECT_EQ(models({copy("half read", 1, 0, 2), read}), Names{});
  const auto order =
      trim_order(std::vector{copy("a", 1, 0, 2), copy("b", 2), copy("a", 3, 1, 2)}, kHere);
  ASSERT_EQ(order.size(), 2U);
  EXPECT_EQ(order[0].model, "b") << "the last use of any shard counts";
  EXPECT_EQ(order[1].bytes, 20U);
  EXPECT_EQ(order[1].shards, 2U);
  EXPECT_EQ(order[1].missing, (std::vector<std::uint32_t>{0, 1}));
}

TEST(TrimOrder, WhereTheDeviceHasTwoVersionsOfAModelBothStay) {
  ModelCopy newer = copy("a", 5);
  newer.version = "2";
  EXPECT_EQ(models({copy("a", 1), newer, copy("b", 9)}), Names{"b"});
  newer.device = kThere;
  EXPECT_EQ(models({copy("a", 1), newer, copy("b", 9)}), (Names{"a", "b"}));
  ModelCopy older = copy("a", 5);
  older.version = "0";
  older.superseded = true;
  older.readers = 1;
  EXPECT_EQ(models({copy("a", 1), older}), Names{"a"});
}

TEST(TrimOrder, WhatHostMemoryHasIsNotMissing) {
  ModelCopy filling = in_host_memory(copy("a", 1, 1, 3));
  filling.filling = true;
  ModelCopy elsewhere = copy("a", 1, 2, 3);
  elsewhere.device = kThere;
  const auto order = trim_order(std::vector{in_host_memory(copy("a", 1, 0, 3)), filling,
                                            copy("a", 1, 0, 3), copy("a", 1, 1, 3), elsewhere},
                                kHere);
  ASSERT_EQ(order.size(), 1U);
  EXPECT_EQ(order[0].missing, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(order[0].host_has_some);
  EXPECT_EQ(order[0].bytes, 20U) << "of the device's memory";
}

}  // namespace
}  // namespace aqua::sharing
