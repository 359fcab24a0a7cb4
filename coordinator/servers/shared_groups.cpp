// SPDX-License-Identifier: Apache-2.0
#include "coordinator/servers/shared_groups.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "base/try.hpp"
#include "coordinator/servers/keys.hpp"
#include "wire/groups.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::chrono::seconds kNextTry{1};

// The number N in the change "N DRAWN"; nullopt: it is none.
std::optional<std::uint64_t> number_of(std::string_view change) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(change.data(), change.data() + change.size(), number);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  const bool is_one = fault == std::errc{} && end != change.data() + change.size() && *end == ' ';
  return is_one && number < kMost ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<void> SharedGroups::answers() const {
  if (!failed_ || Clock::now() >= failed_at_ + kNextTry) return {};
  return *failed_;
}

template <typename T>
Result<T> SharedGroups::heard(Result<T> outcome) {
  failed_.reset();
  if (!outcome.ok()) {
    failed_ = outcome.error();
    failed_at_ = Clock::now();
  }
  return outcome;
}

Result<std::optional<std::vector<groups::Group>>> SharedGroups::read() {
  AQUA_TRY(answers());
  unsure_ = true;
  AQUA_ASSIGN(const etcd::Rows rows, heard(etcd_.range(kGroupsAndChanges)));
  std::vector<groups::Group> groups;
  now_ = {};
  for (const etcd::Row& row : rows.rows) {
    const auto damaged = [&](std::string_view why) {
      return Error{Code::data_loss, concat("etcd: key ", row.key, " is not what a coordinator of ",
                                           "this version writes: ", why)};
    };
    if (row.key == kGroupChanges) {
      const auto number = number_of(row.value);
      if (!number) return damaged("no number");
      now_ = {*number, row.value};
      continue;
    }
    auto stored = wire::decode<wire::StoredGroup>(row.value);
    if (!stored.ok()) return damaged(stored.error().message);
    if (row.key != group_key(stored->group.name)) return damaged("another name");
    groups.push_back(std::move(stored->group));
  }
  if (went_back(now_)) {
    AQUA_TRY(end_backup(groups));
    groups.clear();
  }
  latest_ = now_;
  unsure_ = false;
  return std::optional(std::move(groups));
}

bool SharedGroups::went_back(const Change& now) const {
  return now.number < latest_.number || (now.number == latest_.number && now.text != latest_.text);
}

// Terms of these groups may have been told to others since. Only the last of the changes raises the
// number, so that whoever reads in between finds a backup as well.
Result<void> SharedGroups::end_backup(const std::vector<groups::Group>& groups) {
  const std::uint64_t number = now_.number;
  for (std::size_t done = 0;;) {
    etcd::Transaction some;
    for (; done < groups.size() && some.deletes.size() < kMostGroupsAtOnce; ++done)
      some.deletes.push_back(group_key(groups[done].name));
    const bool is_last = done == groups.size();
    AQUA_ASSIGN(const bool ended, write(std::move(some), is_last ? latest_.number + 1 : number));
    if (!ended) return Error{Code::unavailable, "etcd: others end the groups of a backup"};
    if (is_last) return {};
  }
}

Result<bool> SharedGroups::write(etcd::Transaction changes, std::uint64_t number) {
  std::string change = concat(number, " ", to_string(random_id<struct GroupChangeTag>()));
  changes.when.push_back({std::string(kGroupChanges), 0, now_.text});
  changes.puts.push_back({std::string(kGroupChanges), change, 0});
  unsure_ = true;
  AQUA_ASSIGN(const etcd::Outcome outcome, heard(etcd_.commit(changes)));
  if (!outcome.done) return false;
  now_ = {number, std::move(change)};
  unsure_ = false;
  return true;
}

Result<bool> SharedGroups::commit(const groups::Book& draft, const std::set<std::string>& absent) {
  if (unsure_) return false;
  AQUA_TRY(answers());
  etcd::Transaction changes;
  std::set<std::string> gone;  // names, which another group may have taken
  for (const groups::GroupId& id : draft.touched()) {
    if (const groups::Group* const before = draft.before(id)) gone.insert(before->name);
  }
  for (const groups::GroupId& id : draft.touched()) {
    const auto now = draft.groups().find(id);
    if (now == draft.groups().end()) continue;
    const groups::Group& group = now->second;
    gone.erase(group.name);
    changes.puts.push_back({group_key(group.name), wire::encode(wire::StoredGroup{group}), 0});
  }
  for (const std::string& name : gone) changes.deletes.push_back(group_key(name));
  for (const std::string& server : absent) changes.when.push_back({server_key(server), 0});
  AQUA_ASSIGN(const bool written, write(std::move(changes), latest_.number + 1));
  if (written) latest_ = now_;
  return written;
}

}  // namespace aqua::coordinator
