// SPDX-License-Identifier: Apache-2.0
// Groups behind a lock and a store: nothing is told before it is written, what cannot be written is
// taken back, and a death is tried again; watches.
#include "coordinator/service/group_service.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "coordinator/store/memory_store.hpp"
#include "tests/coordinator/service/ledger_clients.hpp"

namespace aqua::coordinator {
namespace {

using aqua::testing::join_ledger;
using groups::Book;
using groups::Group;
using groups::GroupId;
using groups::Rank;
using groups::Role;
using groups::State;
using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};
constexpr std::uint32_t kUser = 1000;

class FullDisk final : public Store {
 public:
  explicit FullDisk(std::shared_ptr<MemoryStore::Memory> memory)
      : store_(Host{}, std::move(memory)) {}
  Result<Stored> load() override { return store_.load(); }
  Result<Revision> commit(const WriteSet& rows) override {
    if (code) return Error{*code, "store: disk full"};
    return store_.commit(rows);
  }
  Result<void> sync(Revision revision) override { return store_.sync(revision); }

  std::optional<Code> code;  // of every commit; nullopt: they succeed

 private:
  MemoryStore store_;
};

struct GroupServiceTest : ::testing::Test {
  GroupServiceTest() {
    start();
    accepted([&](Book& book) {
      return book.create(id, "chat", {.prefill = {}, .decode = {2, 1}}, shape, {creator, kUser});
    });
    for (const std::uint32_t stage : {0u, 1u}) join(members[stage], Rank{Role::decode, stage, 0});
  }
  // The next life over the same memory.
  void start() {
    disk = std::make_shared<FullDisk>(memory);
    auto stored = disk->load();
    auto book = Book::restore({}, stored.value().groups);
    ASSERT_TRUE(book.ok()) << book.error().message;
    service = std::make_unique<GroupService>(
        std::make_unique<LocalGroups>(disk, [this](const Error&) { ++fatal; }), *std::move(book),
        ledger, GroupService::Options{.max_watches = 2});
    ASSERT_TRUE(service->begin().ok());
  }
  template <typename Work>
  void accepted(Work&& work) {
    const Result<void> outcome = service->change(work);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  }
  void join(const ClientId& client, std::optional<Rank> rank) {
    accepted([&](Book& book) { return book.join(id, {client, kUser}, {"engine", shape, rank}); });
  }
  // Its process has ended, and the ledger knows it.
  void die(const ClientId& client) {
    const auto dead =
        ledger.with([&](ledger::Ledger& book, ledger::Time now) { return book.dead(client, now); });
    EXPECT_TRUE(dead.ok());
    service->gone(client);
  }
  Group group() { return service->find(id).value(); }
  Result<Group> watch(std::optional<std::uint64_t> after, milliseconds timeout = kLong) {
    return service->watch(id, after, timeout, kUser, [this] { return in_session.load(); });
  }

  LedgerService ledger{{}, 4};
  std::shared_ptr<MemoryStore::Memory> memory = std::make_shared<MemoryStore::Memory>();
  std::shared_ptr<FullDisk> disk;
  std::unique_ptr<GroupService> service;
  std::atomic<int> fatal{0};
  std::atomic<bool> in_session{true};
  const GroupId id = random_id<groups::GroupTag>();
  const groups::Shape shape{.model = "m", .dtype = "f16", .layout = "l"};
  const ClientId creator = join_ledger(ledger);
  const std::vector<ClientId> members{join_ledger(ledger), join_ledger(ledger)};
  const ClientId spare = join_ledger(ledger);
};

TEST_F(GroupServiceTest, WhatIsToldIsWritten) {
  EXPECT_EQ(group().state, State::running);
  start();
  EXPECT_EQ(group().state, State::running);
  EXPECT_EQ(group().members.size(), 2U);
}

TEST_F(GroupServiceTest, WhatCannotBeWrittenIsRefusedAndHasNotHappened) {
  const Group before = group();
  disk->code = Code::resource_exhausted;
  const Result<void> refused = service->change([&](Book& book) {
    return book.join(id, {spare, kUser}, {"spare", shape, std::nullopt});
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(group(), before);
  EXPECT_EQ(fatal, 0);
}

TEST_F(GroupServiceTest, ADeathThatCannotBeWrittenIsToldOnceItCan) {
  join(spare, std::nullopt);
  disk->code = Code::resource_exhausted;
  die(members[1]);
  EXPECT_EQ(group().term, 1U) << "a term that is not written is not told";
  disk->code.reset();
  const Group after = group();
  EXPECT_EQ(after.term, 2U);
  EXPECT_EQ(after.state, State::sealing);
  EXPECT_EQ(after.members.at(spare).rank, (Rank{Role::decode, 1, 0}));
  start();
  EXPECT_EQ(group().term, 2U);
}

TEST_F(GroupServiceTest, ToBeOvertakenIsTheEnd) {
  disk->code = Code::aborted;
  EXPECT_FALSE(service->change([&](Book& book) { return book.close(id); }).ok());
  EXPECT_EQ(fatal, 1);
}

TEST_F(GroupServiceTest, APlanThatWasToldIsNotToldAnewInItsTerm) {
  join(spare, std::nullopt);
  die(members[1]);
  for (const ClientId& each : {members[0], spare})
    accepted([&](Book& book) { return book.acknowledge(id, each, 2, {}); });
  ASSERT_EQ(group().state, State::resuming);
  start();
  EXPECT_EQ(group().term, 3U);
  EXPECT_EQ(group().state, State::sealing);
  start();
  EXPECT_EQ(group().term, 3U) << "of a restart amid sealing nothing follows";
}

TEST_F(GroupServiceTest, ASilentStandbyIsNotTakenUntilItIsHeardOf) {
  join(spare, std::nullopt);
  const auto set_silent = [&](bool silent) {
    const auto done = ledger.with([&](ledger::Ledger& book, ledger::Time now) {
      return silent ? book.suspect(spare, now) : book.renew(spare, now);
    });
    EXPECT_TRUE(done.ok());
    EXPECT_TRUE(service->changed(spare));
  };
  set_silent(true);
  EXPECT_TRUE(group().members.at(spare).silent);
  die(members[0]);
  EXPECT_EQ(group().state, State::waiting);
  set_silent(false);
  EXPECT_EQ(group().state, State::sealing);
}

TEST_F(GroupServiceTest, AWatchIsAnsweredByAChange) {
  const std::uint64_t version = watch(std::nullopt).value().version;
  auto waiting = std::async(std::launch::async, [&] { return watch(version); });
  die(members[1]);
  const auto told = waiting.get();
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_EQ(told->term, 2U);
  EXPECT_EQ(told->state, State::waiting);
}

TEST_F(GroupServiceTest, AWatchEndsWithItsTimeItsGroupItsSessionAndTheService) {
  const std::uint64_t version = group().version;
  EXPECT_EQ(watch(version, milliseconds{0}).value().version, version);
  auto waiting = std::async(std::launch::async, [&] { return watch(version); });
  accepted([&](Book& book) { return book.close(id); });
  EXPECT_EQ(waiting.get().error().code, Code::not_found);

  accepted([&](Book& book) {
    return book.create(id, "chat", {.prefill = {}, .decode = {2, 1}}, shape, {creator, kUser});
  });
  const std::uint64_t next = group().version;
  waiting = std::async(std::launch::async, [&] { return watch(next); });
  in_session = false;
  EXPECT_TRUE(service->changed(creator));
  EXPECT_EQ(waiting.get().error().code, Code::permission_denied);

  in_session = true;
  waiting = std::async(std::launch::async, [&] { return watch(next); });
  service->stop();
  EXPECT_EQ(waiting.get().error().code, Code::unavailable);
  EXPECT_EQ(service->change([&](Book& book) { return book.close(id); }).error().code,
            Code::unavailable);
}

TEST_F(GroupServiceTest, OfAnotherUsersGroupNothingIsWatched) {
  EXPECT_EQ(service->watch(id, std::nullopt, kLong, kUser + 1, [] { return true; }).error().code,
            Code::permission_denied);
}

TEST_F(GroupServiceTest, CountsTermsAndRecoveries) {
  join(spare, std::nullopt);
  die(members[1]);
  for (const ClientId& each : {members[0], spare})
    accepted([&](Book& book) { return book.acknowledge(id, each, 2, {}); });
  EXPECT_EQ(service->numbers().groups.at(State::resuming), 1U);
  for (const ClientId& each : {members[0], spare})
    accepted([&](Book& book) { return book.resumed(id, each, 2); });
  const GroupService::Numbers numbers = service->numbers();
  EXPECT_EQ(numbers.groups.at(State::running), 1U);
  EXPECT_EQ(numbers.terms, 1U);
  EXPECT_EQ(numbers.recoveries, 1U);
  EXPECT_EQ(numbers.members, 2U);
  EXPECT_EQ(numbers.standbys, 0U);
}

}  // namespace
}  // namespace aqua::coordinator
