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

std::unique_ptr<GroupStore> store_in_memory() {
  auto store = std::make_shared<MemoryStore>(Host{});
  (void)store->load();  // of nothing: cannot fail
  return std::make_unique<LocalGroups>(std::move(store), [](const Error&) {});
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

// The servers, other than `self`, whose clients are in groups or have created them.
std::set<std::string> other_servers(const groups::Book& book, const std::string& self) {
  std::set<std::string> servers;
  for (const auto& [id, group] : book.groups()) {
    if (!group.creator_gone) servers.insert(group.server);
    for (const auto& [client, member] : group.members) servers.insert(member.server);
  }
  servers.erase(self);
  return servers;
}

// Whether the one may have come of the other: a term and a version only grow, and in a term a rank
// that has a member keeps it.
bool follows(const groups::Group& later, const groups::Group& earlier) {
  if (later.term < earlier.term || later.version < earlier.version) return false;
  if (later.version == earlier.version) return later == earlier;
  return later.term > earlier.term || std::ranges::all_of(earlier.members, [&](const auto& entry) {
           if (!entry.second.rank) return true;
           const auto now = later.members.find(entry.first);
           return now != later.members.end() && now->second.rank == entry.second.rank;
         });
}

}  // namespace

GroupService::GroupService(std::unique_ptr<GroupStore> store, groups::Book book,
                           LedgerService& clients, Options options)
    : store_(std::move(store)),
      clients_(clients),
      options_(std::move(options)),
      book_(std::move(book)),
      known_(options_.server.empty()) {
  MutexLock lock(mu_);
  for (const auto& [id, group] : book_.groups()) told_[id] = {group.term, group.state};
}

GroupService::GroupService(LedgerService& clients)
    : GroupService(store_in_memory(), groups::Book{}, clients, Options{}) {}

Error GroupService::overtaken() {
  return Error{Code::unavailable, "other servers change groups all the time; try again"};
}

Error GroupService::later(const Error& why) {
  return Error{Code::unavailable, concat("the coordinator cannot read its groups: ", why.message)};
}

Result<void> GroupService::begin() {
  MutexLock turn(turn_);
  Draft restored;
  {
    MutexLock lock(mu_);
    restored.book = book_;
  }
  AQUA_TRY(write_down(restored, {}));
  return {};
}

void GroupService::stop() {
  store_->stop();
  MutexLock lock(mu_);
  stopping_ = true;
  changed_.notify_all();
}

Result<GroupService::Draft> GroupService::begin_draft() {
  MutexLock lock(mu_);
  if (stopping_) return Error{Code::unavailable, "the coordinator is stopping"};
  if (!known_) return Error{Code::unavailable, "groups: etcd has not been read yet"};
  if (is_shared() && !options_.is_told())
    return Error{Code::unavailable, "groups: other servers do not know of this one now"};
  Heard heard = hear();
  Draft draft{.book = book_, .gone = std::move(heard.gone)};
  // Those who have fallen silent first, so that none of them is given a rank by the others' return.
  for (const ClientId& id : heard.fallen) draft.book.silent(id, true);
  for (const ClientId& id : heard.returned) draft.book.silent(id, false);
  for (const ClientId& id : draft.gone) draft.book.gone(id);
  return draft;
}

// Others hear of their own clients. Most are as they were.
GroupService::Heard GroupService::hear() {
  Heard heard{.gone = gone_, .fallen = {}, .returned = {}};
  std::set<ClientId> ours;
  for (const auto& [id, group] : book_.groups()) {
    for (const auto& [client, member] : group.members) {
      if (member.server == options_.server) ours.insert(client);
    }
  }
  if (ours.empty()) return heard;
  const std::set<ClientId> live = live_of(clients_, ours);
  for (const auto& [id, group] : book_.groups()) {
    for (const auto& [client, member] : group.members) {
      if (!ours.contains(client) || member.silent != live.contains(client)) continue;
      (member.silent ? heard.returned : heard.fallen).insert(client);
    }
  }
  return heard;
}

Result<bool> GroupService::write_down(Draft& draft, const std::set<std::string>& absent) {
  if (!draft.book.touched().empty()) {
    const auto written = store_->commit(draft.book, absent);
    if (!written.ok()) {
      log(LogLevel::warn, "groups cannot be written", {{"why", written.error().message}});
      return Error{Code::unavailable,
                   concat("the coordinator cannot write its groups: ", written.error().message)};
    }
    if (!*written) {
      if (const auto read = refresh(); !read.ok()) return later(read.error());
      return false;
    }
    draft.book.commit();
    publish(std::move(draft.book));
  }
  MutexLock lock(mu_);
  for (const ClientId& id : draft.gone) gone_.erase(id);
  return true;
}

Result<void> GroupService::refresh() {
  AQUA_ASSIGN(auto written, store_->read());
  if (!written) return {};
  AQUA_ASSIGN(groups::Book book, groups::Book::of({}, *std::move(written)));
  {
    // What was told and is not so any more, as where etcd was restored from a backup, cannot be
    // gone on with: a term would be given to others. The members join anew, in a group of another
    // id.
    MutexLock lock(mu_);
    for (const auto& [id, group] : book_.groups()) {
      const auto now = book.groups().find(id);
      if (now != book.groups().end() && !follows(now->second, group)) (void)book.close(id);
    }
  }
  if (!book.touched().empty()) {
    log(LogLevel::warn, "groups are as they once were, and are ended",
        {{"groups", static_cast<std::uint64_t>(book.touched().size())}});
    AQUA_ASSIGN(const bool ended, store_->commit(book, {}));
    if (!ended) return overtaken();
    book.commit();
  }
  publish(std::move(book));
  MutexLock lock(mu_);
  known_ = true;
  return {};
}

Result<void> GroupService::sync(const std::set<std::string>& present) {
  MutexLock turn(turn_);
  AQUA_TRY(refresh());
  AQUA_ASSIGN(Draft draft, begin_draft());
  std::set<std::string> absent = other_servers(draft.book, options_.server);
  std::erase_if(absent, [&](const std::string& server) { return present.contains(server); });
  for (const std::string& server : absent) {
    log(LogLevel::warn, "members of a server that is silent are gone", {{"server", server}});
    draft.book.server_gone(server);
  }
  // Of a former life: they have died, or left, while nobody could write it down.
  for (const ClientId& client : draft.book.clients_of(options_.server)) {
    const bool known = clients_.with(
        [&](ledger::Ledger& ledger, ledger::Time) { return ledger.clients().contains(client); });
    if (!known) draft.book.gone(client);
  }
  AQUA_TRY(write_down(draft, absent));  // overtaken: tried with the next call, of which others told
  return {};
}

void GroupService::publish(groups::Book book) {
  groups::Book before;
  MutexLock lock(mu_);
  before = std::exchange(book_, std::move(book));
  std::set<groups::GroupId> ids;
  for (const groups::Book* each : {&before, &book_}) {
    for (const auto& [id, group] : each->groups()) ids.insert(id);
  }
  for (const groups::GroupId& id : ids) {
    const auto was = before.groups().find(id);
    const auto is = book_.groups().find(id);
    const bool both = was != before.groups().end() && is != book_.groups().end();
    if (!both || was->second.version != is->second.version) tell(id);
  }
  changed_.notify_all();
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

// Asked with every sign of life of a member: a book is not copied to find that nothing is new.
void GroupService::catch_up() {
  if (is_shared()) return options_.sync_soon();
  MutexLock turn(turn_);
  {
    MutexLock lock(mu_);
    const Heard heard = hear();
    if (heard.gone.empty() && heard.fallen.empty() && heard.returned.empty()) return;
  }
  auto draft = begin_draft();
  if (draft.ok()) (void)write_down(*draft, {});  // or later
}

std::vector<groups::Group> GroupService::all() {
  look();
  MutexLock lock(mu_);
  std::vector<groups::Group> found;
  for (const auto& [id, group] : book_.groups()) found.push_back(group);
  return found;
}

Result<groups::Group> GroupService::find(const groups::GroupId& id) {
  look();
  MutexLock lock(mu_);
  AQUA_ASSIGN(const groups::Group* group, book_.find(id));
  return *group;
}

Result<groups::Group> GroupService::watch(const groups::GroupId& id,
                                          std::optional<std::uint64_t> after,
                                          std::chrono::milliseconds timeout, std::uint32_t user,
                                          const std::function<bool()>& in_session) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const ThreadPool::Blocking blocking;
  look();
  MutexLock lock(mu_);
  for (;;) {
    if (stopping_) return Error{Code::unavailable, "the coordinator is stopping"};
    if (!known_) return Error{Code::unavailable, "groups: etcd has not been read yet"};
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
  look();
  MutexLock lock(mu_);
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

bool GroupService::has_members() {
  MutexLock lock(mu_);
  return !known_ || !book_.clients_of(options_.server).empty();
}

void GroupService::gone(const ClientId& client) {
  {
    MutexLock lock(mu_);
    gone_.insert(client);
  }
  catch_up();
}

bool GroupService::changed(const ClientId& client) {
  {
    MutexLock lock(mu_);
    const bool concerned = std::ranges::any_of(book_.groups(), [&](const auto& entry) {
      return entry.second.creator == client || entry.second.members.contains(client);
    });
    if (!concerned) return false;
  }
  catch_up();
  MutexLock lock(mu_);
  changed_.notify_all();  // a watch of a session that is over
  return true;
}

}  // namespace aqua::coordinator
