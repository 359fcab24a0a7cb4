// SPDX-License-Identifier: Apache-2.0
// After a reclaim the demonstration goes on as soon as lent memory is used again, in whatever way.
#include <gtest/gtest.h>

#include "play/recovery.hpp"

namespace aqua::example {
namespace {

ConsumerStats stats(std::uint64_t leased, std::uint64_t offloaded, std::uint64_t promoted = 0) {
  ConsumerStats made;
  made.leased_bytes = leased;
  made.swap.offloaded.peer = offloaded;
  made.promotions = promoted > 0 ? 1 : 0;
  made.promoted_bytes = promoted;
  return made;
}

TEST(Recovery, BeginsWithALeaseAfterMemoryWasGivenBack) {
  Recovery recovery;
  recovery.note(stats(100, 10));
  recovery.note(stats(200, 20));  // leasing ahead: nothing was given back yet
  EXPECT_FALSE(recovery.leased_again());
  recovery.note(stats(0, 30));
  recovery.note(stats(0, 40));
  EXPECT_FALSE(recovery.leased_again());
  EXPECT_EQ(recovery.bytes_used(), 0U);
  recovery.note(stats(100, 40));
  EXPECT_TRUE(recovery.leased_again());
  EXPECT_EQ(recovery.bytes_used(), 0U);
}

// A policy that preempts for memory only may have nothing in host memory to promote.
TEST(Recovery, APreemptionIntoLentMemoryIsUseOfIt) {
  Recovery recovery;
  for (const ConsumerStats& each : {stats(100, 10), stats(0, 10), stats(100, 17)})
    recovery.note(each);
  EXPECT_EQ(recovery.bytes_used(), 7U);
  EXPECT_EQ(recovery.promotions(), 0U);
}

TEST(Recovery, APromotionIsUseOfIt) {
  Recovery recovery;
  for (const ConsumerStats& each : {stats(100, 10), stats(0, 10), stats(100, 10, 5)})
    recovery.note(each);
  EXPECT_EQ(recovery.bytes_used(), 5U);
  EXPECT_EQ(recovery.promotions(), 1U);
}

// Who borrows from two lenders never stands without any.
TEST(Recovery, APartGivenBackIsEnough) {
  Recovery recovery;
  for (const ConsumerStats& each : {stats(100, 10), stats(50, 20), stats(80, 25)})
    recovery.note(each);
  EXPECT_TRUE(recovery.leased_again());
  EXPECT_EQ(recovery.bytes_used(), 5U);
}

}  // namespace
}  // namespace aqua::example
