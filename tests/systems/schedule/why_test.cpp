// SPDX-License-Identifier: Apache-2.0
// Why a scheduler shares as it does, in words and figures.
#include <gtest/gtest.h>

#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule::test {
namespace {

SchedulerStatus sharing_as(Sharing sharing) {
  return {.device_blocks = 40,
          .device_blocks_held = 31,
          .swap_blocks = 24,
          .swap_blocks_held = 23,
          .sharing = sharing,
          .paced = 7,
          .backlog = 5,
          .asked_per_second = 139.96,
          .sustained_per_second = 146.28};
}

TEST(Why, HasTheFiguresThatDecide) {
  const auto of = [](Sharing sharing) { return why(sharing_as(sharing)); };
  EXPECT_EQ(
      of(Sharing::whole),
      "all that answer fit the device: nobody gives way (12 answer, 31 of 40 blocks are held)");
  EXPECT_EQ(of(Sharing::fair),
            "more answer than fit, and by turns all keep the pace (7 at their pace ask for 140 "
            "tokens a second, 146.3 are sustained)");
  EXPECT_EQ(of(Sharing::partial),
            std::string(why(Sharing::partial)) +
                " (7 at their pace ask for 140 tokens a second, 146.3 are sustained; 5 in the "
                "backlog)");
  EXPECT_EQ(of(Sharing::none),
            "the swap space is full: nobody gives way but for want of memory (23 of 24 blocks of "
            "it are held)");
  EXPECT_EQ(of(Sharing::fixed), why(Sharing::fixed)) << "no figure decides it";
}

TEST(Why, SaysWhatIsNotKnown) {
  SchedulerStatus status = sharing_as(Sharing::fair);
  status.sustained_per_second = 0;
  EXPECT_NE(why(status).find("what is sustained is not known yet"), std::string::npos);
  status.sharing = Sharing::none;
  status.swap_blocks = UINT32_MAX;
  EXPECT_NE(why(status).find("(23 blocks of it are held)"), std::string::npos) << why(status);
}

}  // namespace
}  // namespace aqua::schedule::test
