// SPDX-License-Identifier: Apache-2.0
// What is told of the clients in groups, and in which order.
#include "coordinator/service/group_news.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace aqua::coordinator {
namespace {

using What = GroupNews::What;
using Told = std::vector<std::pair<ClientId, What>>;

Told told(const std::vector<GroupSeat>& seats, const HeardOf& heard) {
  Told all;
  for (const GroupNews& each : news_of(seats, heard)) all.emplace_back(each.client, each.what);
  return all;
}

struct GroupNewsTest : ::testing::Test {
  const groups::GroupId group = random_id<groups::GroupTag>();
  const ClientId dead = random_id<ClientTag>(), back = random_id<ClientTag>(),
                 quiet = random_id<ClientTag>();
};

TEST_F(GroupNewsTest, SilencesAreToldBeforeReturnsAndReturnsBeforeDeaths) {
  const std::vector<GroupSeat> seats{
      {group, dead, "a", true}, {group, back, "a", true, true}, {group, quiet, "a", true}};
  EXPECT_EQ(told(seats, {.server = "a", .live = {back}, .gone = {dead}}),
            (Told{{dead, What::fell_silent},
                  {quiet, What::fell_silent},
                  {back, What::returned},
                  {dead, What::gone}}));
}

TEST_F(GroupNewsTest, OfAnotherServersClientsNothingIsToldWhileItIsThere) {
  const std::vector<GroupSeat> seats{{group, quiet, "b", true}, {group, back, "b", true, true}};
  EXPECT_EQ(told(seats, {.server = "a"}), Told{});
}

TEST_F(GroupNewsTest, TheClientsOfAnAbsentServerAreGone) {
  const std::vector<GroupSeat> seats{{group, quiet, "b", true, true}, {group, dead, "b"}};
  EXPECT_EQ(told(seats, {.server = "a", .absent = {"b"}}),
            (Told{{quiet, What::gone}, {dead, What::gone}}));
}

// A creator has no rank, so nothing follows from its silence.
TEST_F(GroupNewsTest, OfACreatorItsDeathAloneIsTold) {
  EXPECT_EQ(told({{group, quiet, "a"}}, {.server = "a"}), Told{});
  EXPECT_EQ(told({{group, dead, "a"}}, {.server = "a", .gone = {dead}}),
            (Told{{dead, What::gone}}));
}

// For as long as it lives and has no rank: a group that nobody has joined lives by it alone.
TEST_F(GroupNewsTest, ACreatorHasASeatOfItsOwnUnlessItIsAMember) {
  groups::Book book;
  const groups::Shape shape{.model = "m", .dtype = "f16", .layout = "l"};
  const groups::Caller creator{dead, 1000, "a"};
  const auto done = book.create(group, "chat", {.prefill = {}, .decode = {1, 1}}, shape, creator);
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(seats_of(book).size(), 1U);
  EXPECT_EQ(seats_of(book)[0].client, dead);
  EXPECT_FALSE(seats_of(book)[0].is_member);
  tell_part(book, news_of(seats_of(book), {.server = "a", .gone = {dead}}));
  EXPECT_TRUE(book.groups().empty());
}

}  // namespace
}  // namespace aqua::coordinator
