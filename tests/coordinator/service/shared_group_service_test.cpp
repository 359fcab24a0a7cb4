// SPDX-License-Identifier: Apache-2.0
// Group services of two servers over one store in memory: who is overtaken begins again, nobody's
// change is lost, and only who is absent is taken for gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/service/group_service.hpp"
#include "tests/coordinator/service/ledger_clients.hpp"

namespace aqua::coordinator {
namespace {

using groups::Book;
using groups::Group;
using groups::GroupId;
using groups::Rank;
using groups::Role;
using groups::State;
using Names = std::set<std::string>;

constexpr std::uint32_t kUser = 1000;

// What all of them write to: the groups, and a number that each write raises.
struct Shelf {
  std::map<GroupId, Group> groups;
  int written = 0;
  Names present{"a", "b"};
  bool broken = false;
  std::function<void()> on_commit{};  // within the next one
  std::size_t most_at_once = 0;       // groups that one change wrote
};

class OnTheShelf final : public GroupStore {
 public:
  explicit OnTheShelf(Shelf& shelf) : shelf_(shelf) {}
  Result<bool> commit(const Book& draft, const Names& absent) override {
    if (shelf_.broken) return Error{Code::unavailable, "no quorum"};
    if (const auto work = std::exchange(shelf_.on_commit, nullptr)) work();
    for (const std::string& server : absent) {
      if (shelf_.present.contains(server)) return false;
    }
    if (read_ != shelf_.written) return false;
    shelf_.most_at_once = std::max(shelf_.most_at_once, draft.touched().size());
    for (const GroupId& id : draft.touched()) {
      const auto now = draft.groups().find(id);
      if (now == draft.groups().end()) {
        shelf_.groups.erase(id);
      } else {
        shelf_.groups[id] = now->second;
      }
    }
    read_ = ++shelf_.written;
    return true;
  }
  Result<std::optional<std::vector<Group>>> read() override {
    if (shelf_.broken) return Error{Code::unavailable, "no quorum"};
    std::vector<Group> all;
    for (const auto& [id, group] : shelf_.groups) all.push_back(group);
    read_ = shelf_.written;
    return std::optional(std::move(all));
  }

 private:
  Shelf& shelf_;
  int read_ = -1;
};

struct Server {
  Server(Shelf& shelf, const std::string& name)
      : service(std::make_unique<OnTheShelf>(shelf), Book{}, ledger,
                {.max_changes = 1,
                 .server = name,
                 .sync_soon = [this] { ++wanted; },
                 .is_told = [this] { return told; }}) {}
  ClientId client() { return aqua::testing::join_ledger(ledger); }
  // For as long as it asks for it.
  void sync(const Names& present) {
    do {
      wanted = 0;
      const auto done = service.sync(present);
      ASSERT_TRUE(done.ok()) << done.error().message;
    } while (wanted > 0);
  }
  LedgerService ledger{{}, 4};
  int wanted = 0;
  bool told = true;
  GroupService service;
};

struct SharedGroupService : ::testing::Test {
  SharedGroupService() {
    a.sync(shelf.present);
    b.sync(shelf.present);
    accepted(a, [&](Book& book) {
      return book.create(id, "chat", {.prefill = {}, .decode = {2, 1}}, shape,
                         {creator, kUser, "a"});
    });
  }
  template <typename Work>
  void accepted(Server& at, Work&& work) {
    const Result<void> outcome = at.service.change(work);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  }
  // Of b, each in fifteen of two hundred groups.
  std::set<ClientId> members_of_many_groups() {
    std::set<ClientId> members;
    ClientId client;
    for (int i = 0; i < 200; ++i) {
      if (i % 15 == 0) client = b.client();
      const groups::Caller caller{client, i < 100 ? kUser : kUser + 1, "b"};
      const auto one_more = random_id<groups::GroupTag>();
      accepted(b, [&](Book& book) -> Result<void> {
        AQUA_TRY(book.create(one_more, concat("g", i), {.prefill = {}, .decode = {1, 1}}, shape,
                             caller));
        return book.join(one_more, caller, {"engine", shape, zero});
      });
      members.insert(client);
    }
    a.sync(shelf.present);
    shelf.most_at_once = 0;
    return members;
  }
  ClientId join(Server& at, std::optional<Rank> rank) {
    const ClientId client = at.client();
    accepted(at, [&](Book& book) {
      return book.join(id, {client, kUser, at.service.server()}, {"engine", shape, rank});
    });
    return client;
  }

  Shelf shelf;
  Server a{shelf, "a"}, b{shelf, "b"};
  const GroupId id = random_id<groups::GroupTag>();
  const groups::Shape shape{.model = "m", .dtype = "f16", .layout = "l"};
  const ClientId creator = a.client();
  const Rank zero{Role::decode, 0, 0}, one{Role::decode, 1, 0};
};

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

TEST_F(SharedGroupService, NoChangeIsOfMoreGroupsThanAreWrittenAtOnce) {
  const std::set<ClientId> members = members_of_many_groups();
  shelf.present = {"a"};
  a.sync(shelf.present);  // the server that has them all is gone
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_GT(shelf.most_at_once, 64U);
  EXPECT_LE(shelf.most_at_once, 96U);
}

TEST_F(SharedGroupService, DeathsAreWrittenBeforeWhatIsAskedWhereTheyAreMany) {
  for (const ClientId& client : members_of_many_groups()) {
    (void)b.ledger.with(
        [&](ledger::Ledger& book, ledger::Time now) { return book.dead(client, now); });
    b.service.gone(client);
  }
  join(b, zero);
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_GT(shelf.most_at_once, 64U);
  EXPECT_LE(shelf.most_at_once, 96U);
}

TEST_F(SharedGroupService, AsManyAsThereAreAreEndedWhereTheyAreAsTheyOnceWere) {
  members_of_many_groups();
  auto backup = shelf.groups;
  for (auto& [each, group] : backup) {
    if (each != id) --group.version;
  }
  shelf.groups = backup;
  ++shelf.written;
  a.sync(shelf.present);
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_LE(shelf.most_at_once, 96U);
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

TEST_F(SharedGroupService, WhoFindsTooManyChangesUnderWayIsTold) {
  std::promise<Result<void>> told;
  auto outcome = told.get_future();
  std::jthread other;
  shelf.on_commit = [&] {
    other = std::jthread(
        [&] { told.set_value(a.service.change([&](Book& book) { return book.close(id); })); });
    EXPECT_EQ(outcome.wait_for(std::chrono::seconds(60)), std::future_status::ready)
        << "it waits for its turn";
  };
  join(a, zero);
  other.join();
  const Result<void> refused = outcome.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  accepted(a, [&](Book& book) { return book.close(id); });
}

TEST_F(SharedGroupService, BeforeItIsReadItMayHaveMembers) {
  const auto fresh = std::make_unique<Server>(shelf, "c");
  EXPECT_TRUE(fresh->service.has_members());
  fresh->sync(shelf.present);
  EXPECT_FALSE(fresh->service.has_members());
}

}  // namespace
}  // namespace aqua::coordinator
