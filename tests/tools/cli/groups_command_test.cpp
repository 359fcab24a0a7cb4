// SPDX-License-Identifier: Apache-2.0
// aqua groups: its command line, and what it says of groups.
#include "tools/cli/groups/groups_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/wire/samples.hpp"

namespace aqua::tool {
namespace {

using groups::Group;
using groups::Rank;
using groups::Role;
using groups::State;
using ::testing::HasSubstr;
using wire::samples::id;
using Words = std::vector<std::string_view>;

Group group_named(std::string name, std::uint8_t byte) {
  Group group;
  group.id = id<groups::GroupId>(byte);
  group.name = std::move(name);
  group.topology.decode = {2, 1};
  group.shape = {.model = "m", .dtype = "f16", .layout = "l"};
  group.state = State::sealing;
  group.term = 4;
  const auto add = [&](std::uint8_t who, const char* member, std::optional<Rank> rank) {
    const auto client = id<ClientId>(who);
    group.members[client] = {.client = client, .name = member, .rank = rank, .marks = {}};
  };
  add(1, "first", Rank{Role::decode, 0, 0});
  add(2, "spare", std::nullopt);
  return group;
}

TEST(GroupsCommand, NeedsAGroupToShowOrEnd) {
  for (const char* action : {"show", "end"}) {
    const auto refused = parse_groups(Words{action, "--coordinator", "unix:/none"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
  }
  const auto listing = parse_groups(Words{"--json", "--coordinator", "unix:/none"});
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_EQ(listing->action, GroupsAction::list);
  EXPECT_TRUE(listing->json);
  EXPECT_EQ(run_groups(*listing).error().code, Code::unavailable);
  EXPECT_EQ(parse_groups(Words{"join"}).error().code, Code::invalid_argument);
}

TEST(GroupsCommand, ListsThemByNameStateAndTerm) {
  EXPECT_EQ(groups_table({}), "the coordinator has no groups\n");
  const std::string table = groups_table({group_named("chat", 0xaa)});
  EXPECT_THAT(table, HasSubstr("chat"));
  EXPECT_THAT(table, HasSubstr("sealing         4         -       2x1         1         1\n"));
}

TEST(GroupsCommand, ShowsWhoIsWaitedFor) {
  Group group = group_named("chat", 0xaa);
  group.members.begin()->second.acknowledged = true;
  const std::string page = group_page(group);
  EXPECT_THAT(page, HasSubstr("is sealing in term 4\n"));
  EXPECT_THAT(page, HasSubstr("acknowledged\n"));
  EXPECT_THAT(page, HasSubstr("decode 1.0     -                        -"));
  EXPECT_THAT(page, HasSubstr("nobody\n"));
  EXPECT_THAT(page, HasSubstr("stands by\n"));
  group.members.begin()->second.silent = true;
  EXPECT_THAT(group_page(group), HasSubstr("silent\n"));
}

TEST(GroupsCommand, FindsOneByNameOrTheBeginningOfItsId) {
  const std::vector<Group> all{group_named("chat", 0xaa), group_named("aab", 0xab)};
  EXPECT_EQ(find_group(all, "chat").value(), all[0].id);
  EXPECT_EQ(find_group(all, "aab").value(), all[1].id);
  EXPECT_EQ(find_group(all, "abab").value(), all[1].id);
  EXPECT_EQ(find_group(all, "x").error().code, Code::not_found);
  EXPECT_EQ(find_group({group_named("a", 0xaa), group_named("b", 0xaa)}, "aa").error().code,
            Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::tool
