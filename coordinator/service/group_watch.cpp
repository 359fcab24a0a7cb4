// SPDX-License-Identifier: Apache-2.0
// What GroupService tells, and to whom.
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/service/group_service.hpp"

namespace aqua::coordinator {

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

}  // namespace aqua::coordinator
