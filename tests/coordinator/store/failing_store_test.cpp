// SPDX-License-Identifier: Apache-2.0
// The service over a store that fails: promises are refused or undone, facts are kept and
// written later, and what can never be mended ends the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "coordinator/service/ledger_service.hpp"
#include "coordinator/store/memory_store.hpp"
#include "coordinator/store/write_set.hpp"
#include "tests/coordinator/service/ledger_clients.hpp"
#include "tests/coordinator/store/stored_rows.hpp"

namespace aqua::coordinator {
namespace {

using ledger::Ledger;
using ledger::Time;
using ::testing::HasSubstr;

// Fails when told to; else a MemoryStore.
class FailingStore final : public Store {
 public:
  struct Switch {
    std::atomic<bool> commits{false};
    std::atomic<bool> syncs{false};
    std::atomic<Code> code{Code::resource_exhausted};
    std::atomic<int> tried{0};
  };
  FailingStore(std::shared_ptr<MemoryStore::Memory> memory, Switch& fail)
      : store_(Host{}, std::move(memory)), fail_(fail) {}

  Result<Stored> load() override { return store_.load(); }
  Result<Revision> commit(const WriteSet& rows) override {
    ++fail_.tried;
    if (fail_.commits) return Error{fail_.code, "store: disk full"};
    return store_.commit(rows);
  }
  Result<void> sync(Revision revision) override {
    if (fail_.syncs) return Error{Code::internal, "store: fdatasync"};
    return store_.sync(revision);
  }

 private:
  MemoryStore store_;
  Switch& fail_;
};

struct FailingStoreTest : ::testing::Test {
  FailingStoreTest() {
    auto store = std::make_unique<FailingStore>(memory, fail);
    const auto stored = store->load();
    LedgerService::Options options;
    options.on_fatal = [this](const Error&) { ++fatal; };
    service.emplace(std::move(store),
                    Ledger::restore({}, stored.value().image, LedgerService::now()).value(),
                    std::move(options));
    for (const auto* info : {&lender, &borrower})
      accepted([&](Ledger& ledger, Time now) { return ledger.join(*info, now); });
    offer(1);
  }
  template <typename Work>
  void accepted(Work&& work) {
    const auto result = service->with(work);
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  void offer(std::uint32_t index) {
    accepted([&](Ledger& ledger, Time now) {
      return ledger.offer(lender.id, {{.index = index, .bytes = 1, .secret = {}, .holder = {}}},
                          now);
    });
  }
  Result<std::vector<ledger::Grant>> lease(Survives survives = Survives::process) {
    return service->promise(
        survives, [&](Ledger& ledger, Time now) { return ledger.lease(borrower.id, 1, 100, now); },
        [&](Ledger& ledger, Time now, const std::vector<ledger::Grant>& grants) {
          for (const auto& grant : grants)
            (void)ledger.give_back(borrower.id, grant.slab, grant.generation, now);
        });
  }
  // The ledger and what is written of it.
  std::pair<std::string, std::string> both() {
    auto now = service->with([](Ledger& ledger, Time) {
      ledger::DirtyRows all;
      for (const auto& [id, client] : ledger.clients()) all.clients.insert(id);
      for (const auto& [id, slab] : ledger.slabs()) all.slabs.insert(id);
      for (const auto& [id, reclaim] : ledger.reclaims()) all.reclaims.insert(id);
      for (const auto& [consumer, producer] : ledger.pairs()) all.pairs.insert(consumer);
      return text_of(write_set(ledger, all).put);
    });
    MemoryStore reader(Host{}, memory);
    return {now, text_of(reader.load().value().image)};
  }
  ledger::SlabState state(std::uint32_t index) {
    return service->with([&](Ledger& ledger, Time) {
      return ledger.slabs().at({lender.id, index}).state;
    });
  }

  std::shared_ptr<MemoryStore::Memory> memory = std::make_shared<MemoryStore::Memory>();
  FailingStore::Switch fail;
  std::atomic<int> fatal{0};
  const ledger::ClientInfo lender = aqua::testing::some_client(true);
  const ledger::ClientInfo borrower = aqua::testing::some_client(false);
  std::optional<LedgerService> service;
};

TEST_F(FailingStoreTest, ALeaseThatCannotBeWrittenIsNotGranted) {
  fail.commits = true;
  const auto refused = lease();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("disk full"));
  EXPECT_EQ(state(1), ledger::SlabState::quarantined) << "its secret was drawn: scrubbed first";
  EXPECT_TRUE(service->store_fault().has_value());
}

// Callers that wait are served together: what cannot be written is taken back of each, the last
// first.
TEST_F(FailingStoreTest, LeasesThatCannotBeWrittenAreTakenBackTogether) {
  for (std::uint32_t index = 2; index <= 8; ++index) offer(index);
  std::atomic<bool> go{false};
  std::atomic<int> refused{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      while (!go) std::this_thread::yield();
      const auto leased = lease();
      if (!leased.ok() && leased.error().code == Code::unavailable) ++refused;
    });
  }
  fail.commits = true;
  go = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(refused, 4);
  fail.commits = false;
  offer(9);
  const auto [now, written] = both();
  EXPECT_EQ(now, written);
  const bool held = service->with([](Ledger& ledger, Time) {
    return std::ranges::any_of(ledger.slabs(),
                               [](const auto& row) { return row.second.holder.has_value(); });
  });
  EXPECT_FALSE(held);
}

TEST_F(FailingStoreTest, WhileItFailsNothingIsPromisedAndNothingMoves) {
  fail.commits = true;
  (void)lease();
  offer(2);
  EXPECT_FALSE(lease().ok());
  EXPECT_EQ(state(2), ledger::SlabState::offered) << "refused before it was touched";
}

TEST_F(FailingStoreTest, FactsGoOnAndAreWrittenWhenItIsMended) {
  const auto granted = lease();
  ASSERT_TRUE(granted.ok());
  fail.commits = true;
  accepted([&](Ledger& ledger, Time now) {
    return ledger.give_back(borrower.id, granted->front().slab, granted->front().generation, now);
  });
  accepted([&](Ledger& ledger, Time now) -> Result<void> {
    const auto scrubbed = ledger.scrubbed(lender.id, 1, 1, random_id<LeaseTag>(), now);
    return scrubbed.ok() ? Result<void>() : Result<void>(scrubbed.error());
  });
  accepted([&](Ledger& ledger, Time now) { return ledger.withdraw(lender.id, {1}, now); });
  offer(2);
  EXPECT_TRUE(service->store_fault().has_value());
  fail.commits = false;
  ASSERT_TRUE(lease().ok()) << "the next promise writes everything";
  EXPECT_FALSE(service->store_fault().has_value());
  const auto [now, written] = both();
  EXPECT_EQ(now, written);
  EXPECT_THAT(written, HasSubstr("leased"));
}

TEST_F(FailingStoreTest, APairThatCannotBeWrittenIsUndone) {
  ASSERT_TRUE(lease().ok());  // an implicit pair
  const auto before = service->with([](Ledger& ledger, Time) { return ledger.pair_book().all(); });
  ledger::PairBook saved;
  fail.commits = true;
  const auto refused = service->promise(
      Survives::host,
      [&](Ledger& ledger, Time) {
        saved = ledger.pair_book();
        return ledger.unpair(borrower.id);
      },
      [&](Ledger& ledger, Time) { ledger.restore_pairs(saved); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(service->with([](Ledger& ledger, Time) { return ledger.pair_book().all(); }), before);
  fail.commits = false;
  offer(9);
  const auto [now, written] = both();
  EXPECT_EQ(now, written);
}

TEST_F(FailingStoreTest, RenewalsWriteNothing) {
  ASSERT_TRUE(lease().ok());
  const int before = fail.tried;
  for (int i = 0; i < 10; ++i) {
    accepted([&](Ledger& ledger, Time now) { return ledger.renew(borrower.id, now); });
    accepted([&](Ledger& ledger, Time now) { return ledger.suspect(borrower.id, now); });
  }
  EXPECT_EQ(fail.tried, before);
}

TEST_F(FailingStoreTest, ADiskThatDoesNotWriteThroughIsTheEnd) {
  fail.syncs = true;
  ASSERT_TRUE(lease().ok()) << "which survives the process only";
  EXPECT_EQ(fatal, 0);
  offer(2);
  const auto refused = lease(Survives::host);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(fatal, 1);
}

TEST_F(FailingStoreTest, ToBeOvertakenIsTheEnd) {
  fail.commits = true;
  fail.code = Code::aborted;
  EXPECT_FALSE(lease().ok());
  EXPECT_GE(fatal, 1);
}

TEST_F(FailingStoreTest, AStoppingServicePromisesNothing) {
  service->stop();
  const auto refused = lease();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(state(1), ledger::SlabState::offered);
}

}  // namespace
}  // namespace aqua::coordinator
