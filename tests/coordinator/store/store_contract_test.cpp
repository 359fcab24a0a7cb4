// SPDX-License-Identifier: Apache-2.0
// What every store promises, held against each of them.
#include <gtest/gtest.h>

#include <thread>

#include "coordinator/store/memory_store.hpp"
#include "coordinator/store/sqlite_store.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/store/stored_rows.hpp"

namespace aqua::coordinator {
namespace {

// A place that outlives the stores on it.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual std::unique_ptr<Store> open(const Host& host) = 0;
};

class MemoryMedium final : public Medium {
 public:
  std::unique_ptr<Store> open(const Host& host) override {
    return std::make_unique<MemoryStore>(host, memory_);
  }

 private:
  std::shared_ptr<MemoryStore::Memory> memory_ = std::make_shared<MemoryStore::Memory>();
};

class SqliteMedium final : public Medium {
 public:
  std::unique_ptr<Store> open(const Host& host) override {
    auto store = SqliteStore::open(dir_.path(), host);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(store).value();
  }

 private:
  testing::TempDir dir_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Medium> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class StoreContract : public ::testing::TestWithParam<Kind> {
 protected:
  Stored load(Store& store) {
    auto stored = store.load();
    EXPECT_TRUE(stored.ok()) << stored.error().message;
    return std::move(stored).value();
  }
  Revision commit(Store& store, const WriteSet& rows) {
    auto revision = store.commit(rows);
    EXPECT_TRUE(revision.ok()) << revision.error().message;
    return revision.ok() ? *revision : 0;
  }

  const Host host_{.boot = "boot 1", .namespaces = "here"};
  const std::unique_ptr<Medium> medium_ = GetParam().make();
};

TEST_P(StoreContract, OfNothingLoadsNothing) {
  const auto store = medium_->open(host_);
  const Stored stored = load(*store);
  EXPECT_EQ(text_of(stored.image), "");
  EXPECT_EQ(stored.former_rows, 0U);
}

TEST_P(StoreContract, WhatIsCommittedIsThereForTheNextOne) {
  WriteSet rows;
  rows.put = one_of_each();
  {
    const auto store = medium_->open(host_);
    load(*store);
    commit(*store, rows);
  }
  const auto next = medium_->open(host_);
  const Stored stored = load(*next);
  EXPECT_EQ(text_of(stored.image), text_of(rows.put));
  EXPECT_EQ(stored.namespaces, "here");
}

TEST_P(StoreContract, RowsAreReplacedByNameAndDeletedByName) {
  const auto store = medium_->open(host_);
  load(*store);
  WriteSet rows;
  rows.put = one_of_each();
  commit(*store, rows);
  WriteSet changed;
  changed.put.slabs = {rows.put.slabs.front()};
  changed.put.slabs.front().generation = 8;
  changed.put.slabs.front().holder.reset();
  commit(*store, changed);
  rows.put.slabs = changed.put.slabs;
  {
    const auto next = medium_->open(host_);
    EXPECT_EQ(text_of(load(*next).image), text_of(rows.put));
    WriteSet gone;
    gone.clients_gone = {rows.put.clients.front().info.id};
    gone.slabs_gone = {rows.put.slabs.front().id};
    gone.reclaims_gone = {rows.put.reclaims.front().id};
    gone.pairs_gone = {rows.put.pairs.front().consumer};
    commit(*next, gone);
  }
  const auto last = medium_->open(host_);
  EXPECT_EQ(text_of(load(*last).image), "");
}

TEST_P(StoreContract, AGroupIsKeptWithItsMembersAndReplacedWhole) {
  WriteSet rows;
  rows.groups = {one_group(), one_group()};
  rows.groups[1].name = "another";
  std::ranges::sort(rows.groups, {}, &groups::GroupRow::id);
  {
    const auto store = medium_->open(host_);
    load(*store);
    commit(*store, rows);
  }
  const auto next = medium_->open(host_);
  EXPECT_EQ(load(*next).groups, rows.groups);
  WriteSet changed;
  changed.groups = {rows.groups[0]};
  changed.groups[0].term += 1;
  changed.groups[0].members.pop_back();
  changed.groups_gone = {rows.groups[1].id};
  commit(*next, changed);
  EXPECT_EQ(load(*medium_->open(host_)).groups, changed.groups);
  const Stored after_boot = load(*medium_->open({.boot = "boot 2", .namespaces = "here"}));
  EXPECT_TRUE(after_boot.groups.empty());
  EXPECT_GT(after_boot.former_rows, 0U);
}

TEST_P(StoreContract, TwoMayCommitAtOneTime) {
  const auto store = medium_->open(host_);
  load(*store);
  constexpr int kEach = 50;
  const auto commit_many = [&](bool groups) {
    for (int i = 0; i < kEach; ++i) {
      WriteSet rows;
      if (groups) {
        rows.groups = {one_group()};
        rows.groups[0].name = std::to_string(i);
      } else {
        rows.put = one_of_each();
        rows.put.reclaims[0].id = static_cast<std::uint64_t>(i);
      }
      commit(*store, rows);
    }
  };
  std::thread other([&] { commit_many(true); });
  commit_many(false);
  other.join();
  const Stored all = load(*medium_->open(host_));
  EXPECT_EQ(all.groups.size(), std::size_t{kEach});
  EXPECT_EQ(all.image.reclaims.size(), std::size_t{kEach});
}

TEST_P(StoreContract, RevisionsGrowWithEachCommit) {
  const auto store = medium_->open(host_);
  const Revision loaded = load(*store).revision;
  const Revision first = commit(*store, {});
  EXPECT_GT(first, loaded);
  EXPECT_GT(commit(*store, {}), first);
}

TEST_P(StoreContract, OneThatWasOvertakenMayNotWrite) {
  const auto old = medium_->open(host_);
  load(*old);
  const auto next = medium_->open(host_);
  load(*next);
  WriteSet rows;
  rows.put = one_of_each();
  const auto refused = old->commit(rows);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::aborted);
  commit(*next, {});
  const auto last = medium_->open(host_);
  EXPECT_EQ(text_of(load(*last).image), "") << "nothing of what was refused";
}

TEST_P(StoreContract, RowsOfAnotherBootAreNotThereAndAreCounted) {
  {
    const auto store = medium_->open(host_);
    load(*store);
    WriteSet rows;
    rows.put = one_of_each();
    commit(*store, rows);
  }
  {
    const auto after_boot = medium_->open({.boot = "boot 2", .namespaces = "here"});
    const Stored stored = load(*after_boot);
    EXPECT_EQ(text_of(stored.image), "");
    EXPECT_EQ(stored.former_rows, 4U);
  }
  const auto store = medium_->open(host_);
  EXPECT_EQ(text_of(load(*store).image), "") << "they are deleted, not hidden";
}

TEST_P(StoreContract, SyncIsSharedByAllWhoWait) {
  const auto store = medium_->open(host_);
  load(*store);
  std::vector<std::thread> waiting;
  for (int i = 0; i < 8; ++i) {
    const Revision revision = commit(*store, {});
    waiting.emplace_back([&, revision] { EXPECT_TRUE(store->sync(revision).ok()); });
  }
  for (std::thread& thread : waiting) thread.join();
}

TEST_P(StoreContract, SyncOfWhatWasNeverWrittenIsABug) {
  const auto store = medium_->open(host_);
  const auto refused = store->sync(load(*store).revision + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::internal);
}

template <typename Kept>
std::unique_ptr<Medium> make() {
  return std::make_unique<Kept>();
}

INSTANTIATE_TEST_SUITE_P(Every, StoreContract,
                         ::testing::Values(Kind{"Memory", make<MemoryMedium>},
                                           Kind{"Sqlite", make<SqliteMedium>}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua::coordinator
