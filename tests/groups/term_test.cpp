// SPDX-License-Identifier: Apache-2.0
#include "groups/term.hpp"

#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

TEST(GroupTerm, ThisOneIsAccepted) {
  EXPECT_TRUE(check_term({group_id(1), 4}, {group_id(1), 4}).ok());
}

TEST(GroupTerm, AnOlderOneAbortsForGood) {
  EXPECT_EQ(check_term({group_id(1), 3}, {group_id(1), 4}).error().code, Code::aborted);
}

TEST(GroupTerm, ZeroIsNeverAccepted) {
  EXPECT_EQ(check_term({group_id(1), 0}, {group_id(1), 0}).error().code, Code::aborted);
}

TEST(GroupTerm, ANewerOneMayBeRepeatedOnceItIsKnown) {
  EXPECT_EQ(check_term({group_id(1), 5}, {group_id(1), 4}).error().code, Code::unavailable);
}

TEST(GroupTerm, AnotherGroupsIsDeniedWhateverItsNumber) {
  EXPECT_EQ(check_term({group_id(2), 4}, {group_id(1), 4}).error().code, Code::permission_denied);
}

}  // namespace
}  // namespace aqua::groups::test
