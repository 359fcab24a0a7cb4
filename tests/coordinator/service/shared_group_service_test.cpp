// SPDX-License-Identifier: Apache-2.0
// Who is overtaken begins again, nobody's change is lost, and only who is absent is taken for gone.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/coordinator/service/shared_groups_world.hpp"

namespace aqua::coordinator::test {
namespace {

TEST_F(SharedGroupService, WhoIsOvertakenBeginsAgain) {
  // Neither hears of the other but by being overtaken.
  const ClientId first = join(b, zero);
  const ClientId second = join(a, one);
  const ClientId third = join(b, std::nullopt);
  const Group seen = b.service.find(id).value();
  EXPECT_EQ(seen.state, State::running);
  EXPECT_EQ(seen.members.size(), 3U);
  EXPECT_EQ(seen.members.at(first).server, "b");
  EXPECT_EQ(seen.members.at(second).server, "a");
  EXPECT_FALSE(a.service.find(id).value().members.contains(third)) << "a has not looked since";
  a.sync(shelf.present);
  EXPECT_EQ(a.service.find(id).value(), seen);
}

TEST_F(SharedGroupService, WhatOthersHaveRefusesARank) {
  join(b, zero);
  const ClientId late = a.client();
  const Result<void> refused = a.service.change([&](Book& book) {
    return book.join(id, {late, kUser, "a"}, {"engine", shape, zero});
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::already_exists);
}

TEST_F(SharedGroupService, TheSilenceOfOthersClientsIsTheirsToTell) {
  const ClientId theirs = join(b, zero);
  a.sync(shelf.present);
  EXPECT_FALSE(a.service.find(id).value().members.at(theirs).silent);
}

TEST_F(SharedGroupService, MembersOfAnAbsentServerAreGone) {
  join(b, zero);
  const ClientId ours = join(a, one);
  shelf.present = {"a"};
  a.sync(shelf.present);
  const Group left = a.service.find(id).value();
  EXPECT_EQ(left.term, 2U);
  EXPECT_EQ(left.state, State::waiting);
  EXPECT_EQ(left.members.size(), 1U);
  EXPECT_TRUE(left.members.contains(ours));
}

TEST_F(SharedGroupService, AServerThatIsBackMeanwhileIsNotGone) {
  join(b, zero);
  join(a, one);
  a.sync({"a"});  // the store knows better
  EXPECT_EQ(a.service.find(id).value().term, 1U);
  EXPECT_EQ(a.service.find(id).value().members.size(), 2U);
}

TEST_F(SharedGroupService, ADeathIsToldByTheNextSync) {
  const ClientId dies = join(b, zero);
  join(a, one);
  ASSERT_TRUE(
      b.ledger.with([&](ledger::Ledger& book, ledger::Time now) { return book.dead(dies, now); })
          .ok());
  b.service.gone(dies);
  EXPECT_EQ(b.wanted, 1) << "a lifeline waits for no network";
  EXPECT_EQ(b.service.find(id).value().term, 1U);
  b.sync(shelf.present);
  EXPECT_EQ(b.service.find(id).value().term, 2U);
}

TEST_F(SharedGroupService, ADeathOutlivesAStoreThatIsAway) {
  const ClientId dies = join(b, zero);
  b.service.gone(dies);
  shelf.broken = true;
  EXPECT_EQ(b.service.sync(shelf.present).error().code, Code::unavailable);
  EXPECT_EQ(b.service.find(id).value().members.size(), 1U);
  shelf.broken = false;
  b.sync(shelf.present);
  EXPECT_TRUE(b.service.find(id).value().members.empty());
}

TEST_F(SharedGroupService, ASignOfLifeAsksForASyncWhereThereIsNewsOnly) {
  const ClientId first = join(b, zero);
  const ClientId second = join(b, one);
  b.sync(shelf.present);
  const auto wanted_after = [&](const ClientId& heard_of) {
    b.wanted = 0;
    EXPECT_TRUE(b.service.changed(heard_of));
    return b.wanted;
  };
  const auto tell_ledger = [&](auto&& what) {
    EXPECT_TRUE(
        b.ledger.with([&](ledger::Ledger& book, ledger::Time now) { return what(book, now); })
            .ok());
  };
  EXPECT_EQ(wanted_after(first), 0) << "it was known to live";
  tell_ledger([&](ledger::Ledger& book, ledger::Time now) { return book.suspect(second, now); });
  EXPECT_EQ(wanted_after(first), 1) << "another's silence";
  b.sync(shelf.present);
  EXPECT_TRUE(b.service.find(id).value().members.at(second).silent);
  EXPECT_EQ(wanted_after(first), 0);
  tell_ledger([&](ledger::Ledger& book, ledger::Time now) { return book.renew(second, now); });
  EXPECT_EQ(wanted_after(second), 1) << "it was known as silent";
  b.sync(shelf.present);
  EXPECT_FALSE(b.service.find(id).value().members.at(second).silent);
  b.service.gone(second);
  shelf.broken = true;
  EXPECT_FALSE(b.service.sync(shelf.present).ok());
  EXPECT_EQ(wanted_after(first), 1) << "a death that is not written";
}

TEST_F(SharedGroupService, ClientsThatNobodyKnowsAreOfAFormerLife) {
  const ClientId known = join(b, zero);
  Server again(shelf, "b");  // with an empty ledger
  again.sync(shelf.present);
  EXPECT_FALSE(again.service.find(id).value().members.contains(known));
}

TEST_F(SharedGroupService, BeforeItIsReadNothingIsToldOrChanged) {
  Server fresh(shelf, "c");
  EXPECT_EQ(fresh.service.change([&](Book& book) { return book.close(id); }).error().code,
            Code::unavailable);
  EXPECT_EQ(fresh.service
                .watch(id, std::nullopt, std::chrono::milliseconds{0}, kUser, [] { return true; })
                .error()
                .code,
            Code::unavailable);
}

TEST_F(SharedGroupService, WhatWasToldAndIsNotSoAnyMoreIsEnded) {
  join(b, zero);
  const auto before = shelf.groups;  // term 1, one rank empty
  join(a, one);
  b.sync(shelf.present);
  const auto running = shelf.groups;
  shelf.present = {"a"};
  a.sync(shelf.present);
  ASSERT_EQ(a.service.find(id).value().term, 2U);
  shelf.present = {"a", "b"};
  const auto ends = [&](Server& reader, const std::map<GroupId, Group>& backup) {
    shelf.groups = backup;
    ++shelf.written;
    reader.sync(shelf.present);
    EXPECT_FALSE(reader.service.find(id).ok());
    EXPECT_TRUE(shelf.groups.empty());
  };
  ends(a, running);  // of a term that is over
  ends(b, before);   // of its own term, with a seat less
}

TEST_F(SharedGroupService, WhatCannotBeTakenOverIsNotWrittenOver) {
  const ClientId member = join(b, zero);
  a.sync(shelf.present);
  const auto sound = std::exchange(shelf.groups[id].term, 0);
  ++shelf.written;
  EXPECT_FALSE(a.service.sync(shelf.present).ok());
  const auto leave = [&](Book& book) { return book.leave(id, member); };
  const Result<void> refused = a.service.change(leave);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(shelf.groups.at(id).term, 0U);
  shelf.groups.at(id).term = sound;
  ++shelf.written;
  accepted(a, leave);
}

TEST_F(SharedGroupService, WhoOthersDoNotKnowChangesNothing) {
  b.told = false;
  const ClientId client = b.client();
  const Result<void> refused = b.service.change([&](Book& book) {
    return book.join(id, {client, kUser, "b"}, {"engine", shape, zero});
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
}

TEST_F(SharedGroupService, BeforeItIsReadItMayHaveMembers) {
  const auto fresh = std::make_unique<Server>(shelf, "c");
  EXPECT_TRUE(fresh->service.has_members());
  fresh->sync(shelf.present);
  EXPECT_FALSE(fresh->service.has_members());
}

}  // namespace
}  // namespace aqua::coordinator::test
