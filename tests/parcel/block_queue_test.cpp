// SPDX-License-Identifier: Apache-2.0
// Who of those that wait for blocks gets which, and who may overtake whom for how long.
#include "parcel/block_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace aqua {
namespace {

using Members = std::vector<MemberNumber>;

constexpr MemberNumber kLarge = 1, kSmall = 2, kThird = 3;

// A queue over a pool of eight blocks.
class BlockQueues : public ::testing::Test {
 protected:
  std::uint32_t grant(MemberNumber member, std::uint32_t most, std::uint32_t least) {
    const std::uint32_t granted = queue_.grant(member, most, least, pool_);
    pool_.free -= granted;
    return granted;
  }
  void come_back(std::uint32_t blocks) { pool_.free += blocks; }
  Members served() { return queue_.take_served(pool_); }
  // How many times the small one gets a block, and gives it back, before it has to wait.
  int times_overtaken() {
    int times = 0;
    for (; grant(kSmall, 4, 1) == 1; ++times) come_back(1);
    return times;
  }

  std::map<MemberNumber, std::uint32_t> quotas_{};
  BlockQueue::Pool pool_{.blocks = 8, .free = 8, .allowed = [this](MemberNumber member) {
                           return quotas_.contains(member) ? quotas_[member] : 8;
                         }};
  BlockQueue queue_;
};

TEST_F(BlockQueues, WhatAMemberLacksItGetsAtOnceOrNotAtAll) {
  pool_.free = 5;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  EXPECT_EQ(served(), Members{});
  come_back(1);
  EXPECT_EQ(served(), Members{kLarge});
  EXPECT_EQ(served(), Members{}) << "it has been told";
  EXPECT_EQ(grant(kLarge, 6, 6), 6U);
}

TEST_F(BlockQueues, AReserveIsFilledInPartsAndWhereNobodyLacksAnything) {
  EXPECT_EQ(grant(kThird, 9, 0), 8U);
  EXPECT_EQ(grant(kSmall, 4, 0), 0U);
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  come_back(5);
  EXPECT_EQ(served(), Members{});
  EXPECT_EQ(grant(kSmall, 4, 0), 0U);
  come_back(3);
  EXPECT_EQ(served(), Members{kLarge});
  EXPECT_EQ(grant(kLarge, 8, 6), 8U) << "with its own reserve, where nobody else lacks anything";
  come_back(1);
  EXPECT_EQ(served(), (Members{kThird, kSmall}));
  EXPECT_EQ(grant(kSmall, 4, 0), 1U);
}

TEST_F(BlockQueues, WhatIsThereForOneThatWaitsNobodyElseGets) {
  pool_.free = 0;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  EXPECT_EQ(grant(kSmall, 2, 2), 0U);
  come_back(7);
  EXPECT_EQ(served(), Members{kLarge});
  EXPECT_EQ(grant(kThird, 2, 1), 1U) << "what is beyond that, and of that what is lacking";
  EXPECT_EQ(grant(kThird, 2, 2), 0U);
  EXPECT_EQ(grant(kLarge, 9, 6), 6U);
  come_back(2);
  EXPECT_EQ(served(), Members{kSmall}) << "it waits longer than the other one";
}

TEST_F(BlockQueues, LaterOnesOvertakeByAsManyBlocksAsThePoolHas) {
  pool_.free = 3;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  EXPECT_EQ(times_overtaken(), 8);
  come_back(2);
  EXPECT_EQ(served(), Members{}) << "the small one waits as well";
  EXPECT_EQ(grant(kSmall, 1, 1), 0U);
  come_back(1);
  EXPECT_EQ(served(), Members{kLarge});
  EXPECT_EQ(grant(kLarge, 6, 6), 6U);
  come_back(1);
  EXPECT_EQ(served(), Members{kSmall});
}

TEST_F(BlockQueues, WhoIsNotServedInItsTurnIsOvertakenByTwiceAsManyBeforeTheNext) {
  pool_.free = 3;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  for (const int times : {8, 16, 32}) {
    EXPECT_EQ(times_overtaken(), times);
    EXPECT_EQ(served(), Members{});
    pool_.now += BlockQueue::kTurn;
    EXPECT_EQ(served(), Members{kSmall});
  }
}

TEST_F(BlockQueues, WhoDoesNotFetchItsBlocksHasThemForATurn) {
  pool_.free = 0;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  come_back(6);
  EXPECT_EQ(served(), Members{kLarge});
  EXPECT_EQ(grant(kSmall, 4, 4), 0U);
  pool_.now += BlockQueue::kTurn;
  EXPECT_EQ(served(), Members{kSmall});
  EXPECT_EQ(grant(kSmall, 4, 4), 4U);
  EXPECT_EQ(grant(kLarge, 6, 6), 0U) << "it comes too late";
  come_back(4);
  EXPECT_EQ(served(), Members{kLarge}) << "and is still the first";
}

TEST_F(BlockQueues, WhoWaitsForItsQuotaHoldsNobodyUp) {
  quotas_[kLarge] = 5;
  EXPECT_EQ(grant(kLarge, 6, 6), 0U);
  EXPECT_EQ(served(), Members{});
  EXPECT_EQ(grant(kSmall, 7, 0), 7U);
  quotas_[kLarge] = 6;
  come_back(5);
  EXPECT_EQ(served(), Members{kLarge});
}

TEST_F(BlockQueues, WhoLacksMoreThanItMayAskForAtOnceGetsTheRestFirst) {
  EXPECT_EQ(grant(kLarge, 4, 6), 4U);
  EXPECT_EQ(grant(kSmall, 3, 3), 0U);
  EXPECT_EQ(grant(kSmall, 2, 2), 2U);
  EXPECT_EQ(grant(kThird, 1, 1), 0U);
  EXPECT_EQ(grant(kLarge, 2, 2), 2U);
}

TEST_F(BlockQueues, WhoLacksNothingAnyMoreOrHasGoneHoldsNobodyUp) {
  for (const bool has_gone : {false, true}) {
    pool_.free = 5;
    EXPECT_EQ(grant(kLarge, 6, 6), 0U);
    EXPECT_EQ(grant(kSmall, 3, 0), 0U);
    if (has_gone) {
      queue_.forget(kLarge);
    } else {
      EXPECT_EQ(grant(kLarge, 0, 0), 0U);
    }
    EXPECT_EQ(served(), Members{kSmall});
    EXPECT_EQ(grant(kSmall, 3, 0), 3U);
  }
}

}  // namespace
}  // namespace aqua
