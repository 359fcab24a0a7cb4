// SPDX-License-Identifier: Apache-2.0
#include "play/group_watch.hpp"

#include <gtest/gtest.h>

namespace aqua::pipeline {
namespace {

std::optional<bool> runs_in_third(std::uint64_t term, GroupState state) {
  GroupNews news;
  news.term = term;
  news.state = state;
  return runs_in(3, news);
}

TEST(PipelineTerm, RunsOnceItsGroupDoes) {
  EXPECT_EQ(runs_in_third(2, GroupState::running), std::nullopt);
  EXPECT_EQ(runs_in_third(3, GroupState::sealing), std::nullopt);
  EXPECT_EQ(runs_in_third(3, GroupState::resuming), std::nullopt);
  EXPECT_EQ(runs_in_third(3, GroupState::running), true);
}

TEST(PipelineTerm, DoesNotRunAnyMoreOnceAnotherHasBegun) {
  for (const GroupState state :
       {GroupState::waiting, GroupState::sealing, GroupState::resuming, GroupState::running})
    EXPECT_EQ(runs_in_third(4, state), false);
}

}  // namespace
}  // namespace aqua::pipeline
