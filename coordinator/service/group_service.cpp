// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/group_service.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/common/log.hpp"
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

// In bytes, as it is written.
std::size_t size_about(const groups::Group& group) {
  std::size_t bytes = 2048;
  for (const auto& [client, member] : group.members) bytes += 512 + 48 * member.marks.size();
  return bytes;
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

Error GroupService::too_many() const {
  return Error{Code::unavailable,
               concat(options_.max_changes, " changes of groups wait already; try again")};
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
  Draft draft{.book = book_, .gone = {}};
  // Those who have fallen silent first, so that none of them is given a rank by the others' return.
  for (const ClientId& id : heard.fallen) {
    if (!takes_more(draft)) return draft;
    draft.book.silent(id, true);
  }
  for (const ClientId& id : heard.returned) {
    if (!takes_more(draft)) return draft;
    draft.book.silent(id, false);
  }
  for (const ClientId& id : heard.gone) {
    if (!takes_more(draft)) return draft;
    draft.book.gone(id);
    draft.gone.insert(id);
  }
  return draft;
}

bool GroupService::takes_more(Draft& draft) const {
  if (!is_shared()) return true;
  const std::vector<groups::GroupId> touched = draft.book.touched();
  std::size_t bytes = 0;
  for (const groups::GroupId& id : touched) {
    const auto group = draft.book.groups().find(id);
    if (group != draft.book.groups().end()) bytes += size_about(group->second);
  }
  draft.is_whole = touched.size() < kMostGroupsAtOnce && bytes < kMostBytesAtOnce;
  return draft.is_whole;
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
    if (behind_) {
      if (const auto read = refresh(); !read.ok()) return later(read.error());
      return false;
    }
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
  behind_ = true;  // the store compares with what it has read
  AQUA_ASSIGN(groups::Book book, groups::Book::of({}, *std::move(written)));
  // What was told and is not so any more, as where etcd was restored from a backup, cannot be gone
  // on with: a term would be given to others. The members join anew, in a group of another id.
  std::vector<groups::GroupId> former;
  {
    MutexLock lock(mu_);
    for (const auto& [id, group] : book_.groups()) {
      const auto now = book.groups().find(id);
      if (now != book.groups().end() && !follows(now->second, group)) former.push_back(id);
    }
  }
  if (!former.empty()) {
    log(LogLevel::warn, "groups are as they once were, and are ended",
        {{"groups", static_cast<std::uint64_t>(former.size())}});
  }
  for (std::size_t i = 0; i < former.size(); ++i) {
    (void)book.close(former[i]);
    if (i + 1 < former.size() && book.touched().size() < kMostGroupsAtOnce) continue;
    AQUA_ASSIGN(const bool ended, store_->commit(book, {}));
    if (!ended) return overtaken();
    book.commit();
  }
  publish(std::move(book));
  behind_ = false;
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
  const std::set<ClientId> gone = departed(draft.book, absent);
  // None of them is given a rank by the death of another.
  for (const ClientId& client : gone) {
    if (!draft.is_whole || !takes_more(draft)) break;
    draft.book.silent(client, true);
  }
  for (const ClientId& client : gone) {
    if (!draft.is_whole || !takes_more(draft)) break;
    draft.book.gone(client);
  }
  const bool is_whole = draft.is_whole;
  AQUA_ASSIGN(const bool written, write_down(draft, absent));
  // Who is overtaken tries again with the next call: others have told of their change.
  if (!written) return {};
  for (const std::string& server : absent)
    log(LogLevel::warn, "members of a server that is silent are gone", {{"server", server}});
  if (!is_whole) options_.sync_soon();  // each call keeps this server's lease first
  return {};
}

std::set<ClientId> GroupService::departed(const groups::Book& book,
                                          const std::set<std::string>& absent) {
  std::set<ClientId> gone;
  for (const std::string& server : absent) gone.merge(book.clients_of(server));
  // Of a former life: they have died, or left, while nobody could write it down.
  std::set<ClientId> ours = book.clients_of(options_.server);
  gone.merge(clients_.with([&](ledger::Ledger& ledger, ledger::Time) {
    std::erase_if(ours, [&](const ClientId& id) { return ledger.clients().contains(id); });
    return ours;
  }));
  return gone;
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
