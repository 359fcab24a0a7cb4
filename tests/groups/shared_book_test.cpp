// SPDX-License-Identifier: Apache-2.0
// What a book does for groups that coordinators of several servers share.
#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

class SharedGroupsBook : public World {};

TEST_F(SharedGroupsBook, ABookOfToldGroupsIsTheSame) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return gone(2); });
  accepted([&] { return acknowledge(1); });
  const auto again = Book::of({}, {group()});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->groups(), book.groups());
  EXPECT_EQ(again->named("chat"), id);
  EXPECT_TRUE(again->touched().empty());
}

TEST_F(SharedGroupsBook, ABookOfGroupsThatCannotBeIsRefused) {
  run(2);
  const auto refused = [&](auto&& spoil) {
    std::vector<Group> groups{group()};
    spoil(groups);
    const auto made = Book::of({}, groups);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::data_loss);
  };
  refused([](auto& groups) { groups.push_back(groups.front()); });
  refused([](auto& groups) {
    groups.push_back(groups.front());
    groups.back().id = group_id(9);  // of one name
  });
  refused([](auto& groups) { groups.front().term = 0; });
  refused([](auto& groups) { groups.front().state = State::waiting; });
  refused([](auto& groups) { groups.front().term = ~Term{0}; });
  refused([](auto& groups) { groups.front().topology.decode = {UINT32_MAX, UINT32_MAX}; });
  refused([](auto& groups) { groups.front().members.begin()->second.acknowledged = true; });
}

TEST_F(SharedGroupsBook, KnowsWhoIsOfAServer) {
  accepted([&] { return book.create(id, "chat", stages(2), shape(), {client(1), 1000, "a"}); });
  const auto join_at = [&](unsigned n, const std::string& server, std::optional<Rank> rank) {
    return book.join(id, {client(n), 1000, server}, {"m", shape(), rank});
  };
  accepted([&] { return join_at(1, "a", Rank{Role::decode, 0, 0}); });
  accepted([&] { return join_at(2, "b", Rank{Role::decode, 1, 0}); });
  accepted([&] { return join_at(3, "a", std::nullopt); });
  EXPECT_EQ(book.clients_of("b"), std::set{client(2)});
  EXPECT_EQ(book.clients_of("a"), (std::set{client(1), client(3)}));
}

}  // namespace
}  // namespace aqua::groups::test
