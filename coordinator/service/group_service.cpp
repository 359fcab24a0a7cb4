// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/group_service.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/common/thread_pool.hpp"
#include "coordinator/store/memory_store.hpp"

namespace aqua::coordinator {
namespace {

std::shared_ptr<Store> store_in_memory() {
  auto store = std::make_shared<MemoryStore>(Host{});
  (void)store->load();  // of nothing: cannot fail
  return store;
}

Error no_more_groups() {
  return Error{Code::unavailable, "the coordinator is stopping"};
}

// Of these, those who are heard of.
std::set<ClientId> live_of(LedgerService& clients, const std::set<ClientId>& asked) {
  return clients.with([&](ledger::Ledger& ledger, ledger::Time) {
    std::set<ClientId> live;
    for (const ClientId& id : asked) {
      const auto row = ledger.clients().find(id);
      if (row != ledger.clients().end() && row->second.state == ledger::ClientState::live)
        live.insert(id);
    }
    return live;
  });
}

WriteSet rows_of(groups::Book::Changes changes) {
  WriteSet rows;
  rows.groups = std::move(changes.put);
  rows.groups_gone = std::move(changes.gone);
  return rows;
}

}  // namespace

GroupService::GroupService(std::shared_ptr<Store> store, groups::Book book, LedgerService& clients,
                           Options options)
    : store_(std::move(store)),
      clients_(clients),
      options_(std::move(options)),
      book_(std::move(book)) {
  MutexLock lock(mu_);
  for (const auto& [id, group] : book_.groups()) told_[id] = {group.term, group.state};
}

GroupService::GroupService(LedgerService& clients)
    : GroupService(store_in_memory(), groups::Book{}, clients, Options{}) {}

Result<void> GroupService::begin() {
  MutexLock lock(mu_);
  return write_down();
}

void GroupService::stop() {
  MutexLock lock(mu_);
  stopping_ = true;
  changed_.notify_all();
}

void GroupService::hear() {
  std::set<ClientId> known;
  for (const auto& [id, group] : book_.groups()) {
    for (const auto& [client, member] : group.members) known.insert(client);
  }
  if (known.empty()) return;
  const std::set<ClientId> live = live_of(clients_, known);
  // Most are as they were, and the book looks at all groups for each that it is told of.
  std::set<ClientId> fallen;
  std::set<ClientId> returned;
  for (const auto& [id, group] : book_.groups()) {
    for (const auto& [client, member] : group.members) {
      if (member.silent != live.contains(client)) continue;
      (member.silent ? returned : fallen).insert(client);
    }
  }
  // Those who have fallen silent first, so that none of them is given a rank by the others' return.
  for (const ClientId& id : fallen) book_.silent(id, true);
  for (const ClientId& id : returned) book_.silent(id, false);
}

Result<void> GroupService::catch_up() {
  if (stopping_) return no_more_groups();
  hear();
  for (const ClientId& id : gone_) book_.gone(id);
  AQUA_TRY(write_down());
  gone_.clear();
  return {};
}

Result<void> GroupService::write_down() {
  const std::vector<groups::GroupId> touched = book_.touched();
  if (touched.empty()) return {};
  if (groups::Book::Changes changes = book_.changes(); !changes.empty()) {
    const auto written = store_->commit(rows_of(std::move(changes)));
    if (!written.ok()) {
      book_.roll_back();
      log(LogLevel::warn, "groups cannot be written", {{"why", written.error().message}});
      if (written.error().code == Code::aborted) options_.on_fatal(written.error());
      return Error{Code::unavailable,
                   concat("the coordinator cannot write its groups: ", written.error().message)};
    }
  }
  book_.commit();
  for (const groups::GroupId& id : touched) tell(id);
  changed_.notify_all();
  return {};
}

void GroupService::tell(const groups::GroupId& id) {
  const auto now = book_.groups().find(id);
  if (now == book_.groups().end()) {
    if (told_.erase(id) > 0) log(LogLevel::info, "group ended", {{"group", to_string(id)}});
    return;
  }
  const groups::Group& group = now->second;
  const auto [known, fresh] = told_.try_emplace(id, group.term, group.state);
  const auto before = std::exchange(known->second, {group.term, group.state});
  if (group.term > before.first) terms_ += group.term - before.first;
  if (before.second == groups::State::resuming && group.state == groups::State::running)
    ++recoveries_;
  if (!fresh && before == known->second) return;
  log(group.state == groups::State::waiting ? LogLevel::warn : LogLevel::info, "group",
      {{"group", to_string(id)},
       {"name", group.name},
       {"state", std::string(to_string(group.state))},
       {"term", group.term}});
}

std::vector<groups::Group> GroupService::all() {
  MutexLock lock(mu_);
  (void)catch_up();  // what cannot be written is as it was
  std::vector<groups::Group> found;
  for (const auto& [id, group] : book_.groups()) found.push_back(group);
  return found;
}

Result<groups::Group> GroupService::find(const groups::GroupId& id) {
  MutexLock lock(mu_);
  (void)catch_up();
  AQUA_ASSIGN(const groups::Group* group, book_.find(id));
  return *group;
}

Result<groups::Group> GroupService::watch(const groups::GroupId& id,
                                          std::optional<std::uint64_t> after,
                                          std::chrono::milliseconds timeout, std::uint32_t user,
                                          const std::function<bool()>& in_session) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const ThreadPool::Blocking blocking;
  MutexLock lock(mu_);
  (void)catch_up();
  for (;;) {
    if (stopping_) return no_more_groups();
    if (!in_session()) return Error{Code::permission_denied, "watch: the session is over"};
    AQUA_ASSIGN(const groups::Group* group, book_.find(id));
    if (group->user != user) {
      return Error{Code::permission_denied,
                   concat("watch: group \"", group->name, "\" is of another user's processes")};
    }
    const bool over = std::chrono::steady_clock::now() >= deadline;
    if (!after || group->version != *after || over) return *group;
    if (watches_ >= options_.max_watches) {
      return Error{Code::unavailable,
                   concat("watch: ", options_.max_watches, " watches of groups wait already")};
    }
    ++watches_;
    changed_.wait_until(mu_, deadline);
    --watches_;
  }
}

GroupService::Numbers GroupService::numbers() {
  MutexLock lock(mu_);
  (void)catch_up();
  Numbers numbers{.groups = {}, .terms = terms_, .recoveries = recoveries_, .watches = watches_};
  for (const auto& [id, group] : book_.groups()) {
    ++numbers.groups[group.state];
    for (const auto& [client, member] : group.members) {
      ++(member.rank ? numbers.members : numbers.standbys);
      if (member.silent) ++numbers.silent;
    }
  }
  return numbers;
}

void GroupService::gone(const ClientId& client) {
  MutexLock lock(mu_);
  gone_.insert(client);
  (void)catch_up();  // or later
}

bool GroupService::changed(const ClientId& client) {
  MutexLock lock(mu_);
  const bool concerned = std::ranges::any_of(book_.groups(), [&](const auto& entry) {
    return entry.second.creator == client || entry.second.members.contains(client);
  });
  if (!concerned) return false;
  (void)catch_up();
  changed_.notify_all();  // a watch of a session that is over
  return true;
}

}  // namespace aqua::coordinator
