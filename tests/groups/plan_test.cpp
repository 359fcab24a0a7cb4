// SPDX-License-Identifier: Apache-2.0
#include "groups/plan.hpp"

#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

// A group of decode stages, whose ranks are clients 1, 2 …; what each reports.
Group reported(const std::vector<std::vector<Watermark>>& marks) {
  Group group;
  group.topology = stages(static_cast<std::uint32_t>(marks.size()));
  for (std::uint32_t rank = 0; rank < marks.size(); ++rank) {
    group.members[client(rank + 1)] = {
        .client = client(rank + 1), .name = {}, .rank = decode(rank), .marks = marks[rank]};
  }
  return group;
}

// Figure 10 of the paper, with four stages of which the second has failed: the third has its
// replica, up to an earlier step than the others have reached.
TEST(GroupPlan, ResumesWhereTheReplicaEnds) {
  const Plan plan = make_plan(reported({{{decode(0), 1, 12}, {decode(3), 1, 11}},
                                        {},
                                        {{decode(1), 1, 10}, {decode(2), 1, 12}},
                                        {{decode(2), 1, 11}, {decode(3), 1, 12}}}));
  EXPECT_EQ(plan.resume, (std::vector<Resume>{{Role::decode, 1, 10}}));
  EXPECT_EQ(plan.restore, (std::vector<Restore>{{decode(1), 1, client(3), 10}}));
}

TEST(GroupPlan, GivesEachSequenceItsOwnPoint) {
  const Plan plan = make_plan(
      reported({{{decode(0), 1, 9}, {decode(0), 2, 30}, {decode(1), 1, 9}}, {{decode(1), 2, 31}}}));
  EXPECT_EQ(plan.resume, (std::vector<Resume>{{Role::decode, 1, 9}, {Role::decode, 2, 30}}));
  EXPECT_EQ(plan.restore, (std::vector<Restore>{{decode(1), 1, client(1), 9}}));
}

TEST(GroupPlan, WithoutAReplicaASequenceBeginsFromItsPrompt) {
  const Plan plan = make_plan(reported({{{decode(0), 5, 100}}, {}}));
  EXPECT_EQ(plan.resume, (std::vector<Resume>{{Role::decode, 5, 0}}));
  EXPECT_TRUE(plan.restore.empty());
}

TEST(GroupPlan, PrefersTheMostAndOfEqualsTheLowestClient) {
  const Plan plan = make_plan(reported({{{decode(0), 1, 8}, {decode(2), 1, 6}},
                                        {{decode(1), 1, 8}, {decode(2), 1, 7}},
                                        {},
                                        {{decode(2), 1, 7}, {decode(3), 1, 8}}}));
  EXPECT_EQ(plan.resume, (std::vector<Resume>{{Role::decode, 1, 7}}));
  EXPECT_EQ(plan.restore, (std::vector<Restore>{{decode(2), 1, client(2), 7}}));
}

TEST(GroupPlan, KeepsPrefillAndDecodeApart) {
  Group group = reported({{{{Role::prefill, 0, 0}, 1, 4}, {decode(0), 1, 9}}});
  group.topology.prefill = {.stages = 1, .tensor = 1};
  const Plan plan = make_plan(group);
  EXPECT_EQ(plan.resume, (std::vector<Resume>{{Role::prefill, 1, 4}, {Role::decode, 1, 9}}));
  EXPECT_EQ(plan.restore, (std::vector<Restore>{{{Role::prefill, 0, 0}, 1, client(1), 4}}));
}

}  // namespace
}  // namespace aqua::groups::test
