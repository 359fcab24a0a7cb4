// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

class RestoredGroups : public World {
 protected:
  // The next life of the coordinator, from what this one has written down.
  void restart() {
    auto next = Book::restore({}, {row_of(group())});
    ASSERT_TRUE(next.ok()) << next.error().message;
    book = *std::move(next);
    EXPECT_EQ(book.check_invariants(), "");
  }
  void recover_until_resuming() {
    run(2);
    accepted([&] { return join(3, std::nullopt); });
    accepted([&] { return gone(2); });
    accepted([&] { return acknowledge(1); });
    accepted([&] { return acknowledge(3); });
    EXPECT_EQ(state(), State::resuming);
  }
  void refuses(const std::function<void(GroupRow&)>& spoil) {
    GroupRow row = row_of(group());
    spoil(row);
    const auto outcome = Book::restore({}, {row});
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Code::data_loss) << outcome.error().message;
  }
};

TEST_F(RestoredGroups, RunOnInTheirTermWithEverybodySilent) {
  run(2);
  restart();
  EXPECT_TRUE(book.touched().empty());
  EXPECT_EQ(state(), State::running);
  EXPECT_EQ(term(), 1u);
  for (const auto& [client, member] : group().members) EXPECT_TRUE(member.silent);
}

TEST_F(RestoredGroups, BeginTheNextTermWhereAPlanWasTold) {
  recover_until_resuming();
  restart();
  EXPECT_EQ(term(), 3u);
  EXPECT_EQ(state(), State::sealing);
  EXPECT_EQ(book.changes().put.size(), 1u) << "not told before it is written";
}

TEST_F(RestoredGroups, AskForAcknowledgementsAnewInTheSameTermWhereNoneWas) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return gone(2); });
  accepted([&] { return acknowledge(1); });
  restart();
  EXPECT_EQ(term(), 2u);
  EXPECT_FALSE(group().members.at(client(1)).acknowledged);
  accepted([&] { return acknowledge(1); });
  accepted([&] { return acknowledge(3); });
  EXPECT_EQ(state(), State::resuming);
}

TEST_F(RestoredGroups, TakeNoStandbyBeforeItIsHeardOf) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  restart();
  accepted([&] { return gone(2); });
  EXPECT_EQ(state(), State::waiting);
  accepted([&] { return silent(3, false); });
  EXPECT_EQ(state(), State::sealing);
}

TEST_F(RestoredGroups, ThatContradictThemselvesAreRefused) {
  recover_until_resuming();
  refuses([](GroupRow& row) { row.term = 0; });
  refuses([](GroupRow& row) { row.id = {}; });
  refuses([](GroupRow& row) { row.name.clear(); });
  refuses([](GroupRow& row) { row.state = State::closed; });
  refuses([](GroupRow& row) { row.state = State::waiting; });
  refuses([](GroupRow& row) { row.members.pop_back(); });
  refuses([](GroupRow& row) { row.members[0].rank = row.members[1].rank; });
  refuses([](GroupRow& row) { row.members[0].rank = decode(2); });
  refuses([](GroupRow& row) { row.members[0].order = row.joins + 1; });
  refuses([](GroupRow& row) { row.members[0].order = row.members[1].order; });
  refuses([](GroupRow& row) { row.members.push_back(row.members[0]); });
  refuses([](GroupRow& row) { row.topology.decode.stages = 3; });
  refuses([](GroupRow& row) { row.topology = {}; });
}

TEST_F(RestoredGroups, ThatAreThereTwiceAreRefused) {
  run(1);
  GroupRow other = row_of(group());
  EXPECT_EQ(Book::restore({}, {other, other}).error().code, Code::data_loss);
  other.id = group_id(2);
  EXPECT_EQ(Book::restore({}, {row_of(group()), other}).error().code, Code::data_loss);
  other.name = "another";
  EXPECT_TRUE(Book::restore({}, {row_of(group()), other}).ok());
}

}  // namespace
}  // namespace aqua::groups::test
