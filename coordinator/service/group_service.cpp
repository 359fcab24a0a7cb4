// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/group_service.hpp"

#include <algorithm>
#include <iterator>
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

// Those of the `asked` clients that are live.
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
  AQUA_TRY(write_down(known(), {}));
  return {};
}

void GroupService::stop() {
  store_->stop();
  MutexLock lock(mu_);
  stopping_ = true;
  changed_.notify_all();
}

Result<void> GroupService::may_change() const {
  if (stopping_) return Error{Code::unavailable, "the coordinator is stopping"};
  if (!known_) return Error{Code::unavailable, "groups: etcd has not been read yet"};
  if (is_shared() && !options_.is_told())
    return Error{Code::unavailable, "groups: other servers do not know of this one now"};
  return {};
}

groups::Book GroupService::known() {
  MutexLock lock(mu_);
  return book_;
}

std::vector<GroupNews> GroupService::unwritten_news(HeardOf& heard) {
  std::vector<GroupSeat> seats;
  {
    MutexLock lock(mu_);
    seats = seats_of(book_);
    heard.gone = gone_;
  }
  std::set<ClientId> ours;
  for (const GroupSeat& seat : seats) {
    if (seat.server == heard.server) ours.insert(seat.client);
  }
  if (!ours.empty()) heard.live = live_of(clients_, ours);
  return news_of(seats, heard);
}

Result<GroupService::Step> GroupService::write_news(const std::set<std::string>& absent) {
  {
    MutexLock lock(mu_);
    AQUA_TRY(may_change());
  }
  HeardOf heard{.server = options_.server, .absent = absent};
  const std::vector<GroupNews> news = unwritten_news(heard);
  if (news.empty()) {
    MutexLock lock(mu_);
    for (const ClientId& client : heard.gone) gone_.erase(client);
    return Step::nothing;
  }
  groups::Book draft = known();
  tell_part(draft, news);
  AQUA_ASSIGN(const bool written, write_down(std::move(draft), absent));
  return written ? Step::written : Step::overtaken;
}

Result<bool> GroupService::write_all_news() {
  for (;;) {
    AQUA_ASSIGN(const Step step, write_news({}));
    if (step != Step::written) return step == Step::nothing;
  }
}

Result<bool> GroupService::write_down(groups::Book draft, const std::set<std::string>& absent) {
  if (draft.touched().empty()) return true;
  bool written = false;
  if (!behind_) {
    const auto outcome = store_->commit(draft, absent);
    if (!outcome.ok()) {
      log(LogLevel::warn, "groups cannot be written", {{"why", outcome.error().message}});
      return Error{Code::unavailable,
                   concat("the coordinator cannot write its groups: ", outcome.error().message)};
    }
    written = *outcome;
  }
  if (!written) {
    if (const auto read = refresh(); !read.ok()) return later(read.error());
    return false;
  }
  draft.commit();
  publish(std::move(draft));
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
  constexpr int kTries = 4;
  MutexLock turn(turn_);
  AQUA_TRY(refresh());
  forget_former_life();
  for (int tries = 0; tries < kTries; ++tries) {
    std::set<std::string> absent = other_servers(known(), options_.server);
    std::erase_if(absent, [&](const std::string& server) { return present.contains(server); });
    while (absent.size() > kMostServersAtOnce) absent.erase(std::prev(absent.end()));
    AQUA_ASSIGN(const Step step, write_news(absent));
    if (step == Step::overtaken) continue;
    if (step == Step::nothing) return {};
    const std::set<std::string> left = other_servers(known(), options_.server);
    for (const std::string& server : absent) {
      if (!left.contains(server))
        log(LogLevel::warn, "members of a server that is silent are gone", {{"server", server}});
    }
    options_.sync_soon();
    return {};
  }
  return {};  // others change groups all the time, and have told that they do
}

void GroupService::forget_former_life() {
  std::set<ClientId> ours = known().clients_of(options_.server);
  ours = clients_.with([&](ledger::Ledger& ledger, ledger::Time) {
    std::erase_if(ours, [&](const ClientId& id) { return ledger.clients().contains(id); });
    return ours;
  });
  MutexLock lock(mu_);
  gone_.merge(ours);
}

// Asked with every sign of life of a member: a book is copied only where there is news.
void GroupService::catch_up() {
  if (is_shared()) return options_.sync_soon();
  const ThreadPool::Blocking blocking;
  MutexLock turn(turn_);
  (void)write_all_news();  // or later
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
  // A renewal that tells nothing new costs etcd nothing. News that could not be written, of any
  // client, are tried again.
  HeardOf heard{.server = options_.server};
  if (!is_shared() || !unwritten_news(heard).empty()) catch_up();
  MutexLock lock(mu_);
  changed_.notify_all();  // a watch of a session that is over
  return true;
}

}  // namespace aqua::coordinator
