// SPDX-License-Identifier: Apache-2.0
// Copies that are dropped, that are spare, and that an earlier keeper had.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/systems/sharing/model_book_fixture.hpp"

namespace aqua::sharing {
namespace {

class CopiesOfModels : public ModelBookTest {};

TEST_F(CopiesOfModels, ACopyOnADeviceGoesOnceAnotherHasItsShardAndNobodyReadsIt) {
  const CopyId here = publish("1");
  const auto drop_code = [&](const std::string& version, const DeviceUuid& device) {
    const auto dropped = book_.drop_unread("m", version, device);
    return dropped.ok() ? Code::internal : dropped.error().code;
  };
  EXPECT_EQ(drop_code("1", gpu(0)), Code::failed_precondition) << "the only one";
  EXPECT_EQ(drop_code("1", gpu(1)), Code::not_found);
  EXPECT_EQ(drop_code("2", gpu(0)), Code::not_found);
  const CopyId spare = book_.open(kOther, {"m", "1"}, gpu(9), {.spare = true}).value();
  EXPECT_EQ(drop_code("1", gpu(0)), Code::failed_precondition) << "the other is being filled";
  EXPECT_EQ(drop_code("1", gpu(9)), Code::failed_precondition);
  ASSERT_TRUE(book_.commit(kOther, spare).ok());
  ASSERT_TRUE(book_.attach(kReader, {"m"}, gpu(0)).ok());
  EXPECT_EQ(drop_code("1", gpu(0)), Code::failed_precondition) << "it is read";
  EXPECT_EQ(book_.gone(kReader), Copies{});
  EXPECT_EQ(book_.drop_unread("m", "1", gpu(0)).value(), Copies{here});
  EXPECT_EQ(attach_code({"m"}), Code::failed_precondition);
  const CopyId back = book_.open(kLoader, {"m", "1"}, gpu(0)).value();
  ASSERT_TRUE(book_.commit(kLoader, back).ok());
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(0))->copy, back);
}

TEST_F(CopiesOfModels, ASpareCopyKeepsNoVersionFromBeingSuperseded) {
  const CopyId old = publish("1");
  const CopyId spare = book_.open(kOther, {"m", "1"}, gpu(9), {.spare = true}).value();
  ASSERT_TRUE(book_.commit(kOther, spare).ok());
  publish("2");
  EXPECT_EQ(forgotten_, (Copies{old, spare}));
  const CopyId parked = book_.open(kOther, {"m", "2"}, gpu(9), {.spare = true}).value();
  EXPECT_EQ(book_.commit(kOther, parked).value(), Copies{}) << "it supersedes nothing by itself";
  const CopyId three = book_.open(kLoader, {"m", "3"}, gpu(1)).value();
  ASSERT_TRUE(book_.commit(kLoader, three).ok());
  EXPECT_EQ(book_.drop_unread("m", "2", gpu(0)).value().size(), 1U)
      << "version 2 can still be brought back to its device";
  EXPECT_EQ(book_.status().size(), 2U);
  const CopyId back = book_.open(kLoader, {"m", "2"}, gpu(0)).value();
  ASSERT_TRUE(book_.commit(kLoader, back).ok());
  EXPECT_EQ(book_.attach(kLate, {"m"}, gpu(0))->copy, back);
}

TEST_F(CopiesOfModels, WhatIsRestoredIsAsOldAsItWasAndItsReadersAreUnknown) {
  const CopyId second =
      book_.open(kLoader, {"m", "2"}, gpu(1), {.restored = true, .order = 7}).value();
  const CopyId first =
      book_.open(kLoader, {"m", "1"}, gpu(0), {.restored = true, .order = 5}).value();
  for (const CopyId copy : {second, first})
    EXPECT_EQ(book_.commit(kLoader, copy).value(), Copies{});
  EXPECT_EQ(book_.all_restored(), Copies{});
  EXPECT_EQ(book_.opened_as(first).as.order, 5U);
  EXPECT_TRUE(book_.status()[0].copies[0].readers_unknown);
  const CopyId here = book_.open(kLoader, {"m", "2"}, gpu(0)).value();
  EXPECT_EQ(book_.commit(kLoader, here).value(), Copies{first}) << "2 is the newer one";
  const CopyId third = book_.open(kLoader, {"m", "3"}, gpu(0)).value();
  EXPECT_EQ(book_.opened_as(third).as.order, 8U);
}

// Version 1 is on two devices and version 2 on one of them; version 1 has a spare copy, too.
TEST_F(CopiesOfModels, WhatIsRestoredIsTheSameInWhateverOrder) {
  struct Had {
    const char* version;
    std::uint32_t shard, shards;
    std::uint8_t device;
    bool spare;
    std::uint64_t order;
  };
  std::vector<Had> had{{"1", 0, 2, 0, false, 1},
                       {"1", 1, 2, 1, false, 1},
                       {"1", 1, 2, 9, true, 1},
                       {"2", 0, 1, 0, false, 2}};
  std::vector<int> turn{0, 1, 2, 3};
  do {
    ModelBook book;
    for (const int i : turn) {
      const Had& one = had[static_cast<std::size_t>(i)];
      const auto opened =
          book.open(kLoader, {"m", one.version, one.shard, one.shards}, gpu(one.device),
                    {.spare = one.spare, .restored = true, .order = one.order});
      ASSERT_TRUE(opened.ok());
      ASSERT_TRUE(book.commit(kLoader, *opened).ok());
    }
    EXPECT_EQ(book.all_restored(), Copies{});
    const auto status = book.status();
    ASSERT_EQ(status.size(), 2U);
    EXPECT_EQ(status[0].version, "1");
    EXPECT_EQ(status[0].copies.size(), 3U);
    EXPECT_FALSE(status[0].superseded) << "one of its devices has nothing newer";
    EXPECT_TRUE(book.attach(kReader, {"m", "", 1, 2}, gpu(1)).ok());
  } while (std::ranges::next_permutation(turn).found);
}

TEST_F(CopiesOfModels, WhatIsRestoredAndWasSupersededGoes) {
  for (const std::uint64_t order : {3U, 2U}) {
    const auto opened = book_.open(kLoader, {"m", std::to_string(order)}, gpu(0),
                                   {.restored = true, .order = order});
    ASSERT_TRUE(book_.commit(kLoader, *opened).ok());
  }
  EXPECT_EQ(book_.all_restored().size(), 1U);
  EXPECT_EQ(book_.status()[0].version, "3");
}

TEST_F(CopiesOfModels, TheLastUseIsThatOfAPublisherOrAReader) {
  const CopyId one = publish("1");
  const CopyId other = book_.open(kLoader, {"n", "1"}, gpu(0)).value();
  ASSERT_TRUE(book_.commit(kLoader, other).ok());
  const auto later = [&](const char* first, const char* second) {
    std::map<std::string, std::uint64_t> used;
    for (const VersionStatus& version : book_.status()) {
      used[version.model] = version.copies[0].last_used;
    }
    return used[first] < used[second];
  };
  EXPECT_TRUE(later("m", "n"));
  ASSERT_TRUE(book_.attach(kReader, {"m"}, gpu(0)).ok());
  EXPECT_TRUE(later("n", "m"));
  ASSERT_TRUE(book_.attach(kReader, {"n"}, gpu(0)).ok());
  EXPECT_TRUE(book_.detach(kReader, one).ok());
  EXPECT_TRUE(later("n", "m"));
  EXPECT_EQ(book_.gone(kReader), Copies{});
  EXPECT_TRUE(later("m", "n"));
}

}  // namespace
}  // namespace aqua::sharing
