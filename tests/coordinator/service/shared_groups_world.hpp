// SPDX-License-Identifier: Apache-2.0
// Group services of two servers over one store in memory, for tests of what they share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/service/group_service.hpp"
#include "tests/coordinator/service/ledger_clients.hpp"

namespace aqua::coordinator::test {

using groups::Book;
using groups::Group;
using groups::GroupId;
using groups::Rank;
using groups::Role;
using groups::State;
using Names = std::set<std::string>;

inline constexpr std::uint32_t kUser = 1000;

// What all of them write to: the groups, and a number that each write raises.
struct Shelf {
  std::map<GroupId, Group> groups;
  int written = 0;
  Names present{"a", "b"};
  bool broken = false;
  std::size_t most_at_once = 0;  // groups that one change wrote
};

class OnTheShelf final : public GroupStore {
 public:
  explicit OnTheShelf(Shelf& shelf) : shelf_(shelf) {}
  Result<bool> commit(const Book& draft, const Names& absent) override {
    if (shelf_.broken) return Error{Code::unavailable, "no quorum"};
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
                {.server = name,
                 .sync_soon = [this] { ++wanted; },
                 .is_told = [this] { return told; }}) {}
  ClientId client() { return aqua::testing::join_ledger(ledger); }
  // For as long as it asks for it.
  void sync(const Names& present) {
    for (int calls = 0; calls < 32; ++calls) {
      wanted = 0;
      const auto done = service.sync(present);
      ASSERT_TRUE(done.ok()) << done.error().message;
      if (wanted == 0) return;
    }
    FAIL() << "it asks for ever";
  }
  LedgerService ledger{{.client_ttl = ledger::Time{600'000}}, 4};  // nobody falls silent by time
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

}  // namespace aqua::coordinator::test
