// SPDX-License-Identifier: Apache-2.0
#include "coordinator/servers/shared_groups.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/servers/keys.hpp"
#include "wire/groups.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::chrono::seconds kNextTry{1};

// The group before or after the draft's changes that has this id; nullptr: there is none.
const groups::Group* group_in(const groups::Book& book, const groups::GroupId& id) {
  const auto found = book.groups().find(id);
  return found == book.groups().end() ? nullptr : &found->second;
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
  AQUA_ASSIGN(const etcd::Rows rows, heard(etcd_.range(kGroupKeys)));
  std::vector<groups::Group> groups;
  std::map<std::string, etcd::Revision> revisions;
  for (const etcd::Row& row : rows.rows) {
    auto stored = wire::decode<wire::StoredGroup>(row.value);
    if (!stored.ok() || row.key != group_key(stored->group.name)) {
      return Error{Code::data_loss,
                   concat("etcd: key ", row.key, " is not what a coordinator of this version ",
                          "writes: ", stored.ok() ? "another name" : stored.error().message)};
    }
    revisions[stored->group.name] = row.modified;
    groups.push_back(std::move(stored->group));
  }
  if (rows.revision < seen_) {
    // Restored from a backup: of what was told since then nothing is known here, but by chance.
    etcd::Transaction none;
    for (const auto& [name, modified] : revisions) {
      none.when.push_back({group_key(name), modified});
      none.deletes.push_back(group_key(name));
    }
    AQUA_ASSIGN(const etcd::Outcome ended, heard(etcd_.commit(none)));
    if (!ended.done) return Error{Code::unavailable, "etcd: groups of a backup are being ended"};
    seen_ = ended.revision;
    revisions.clear();
    groups.clear();
  }
  seen_ = std::max(seen_, rows.revision);
  revisions_ = std::move(revisions);
  unsure_ = false;
  return std::optional(std::move(groups));
}

Result<bool> SharedGroups::commit(const groups::Book& draft, const std::set<std::string>& absent) {
  if (unsure_) return false;
  AQUA_TRY(answers());
  etcd::Transaction all;
  std::map<std::string, bool> touched;  // by name: whether it is there afterwards
  for (const groups::GroupId& id : draft.touched()) {
    if (const groups::Group* const before = draft.before(id)) touched.emplace(before->name, false);
    if (const groups::Group* const now = group_in(draft, id)) {
      touched[now->name] = true;
      all.puts.push_back({group_key(now->name), wire::encode(wire::StoredGroup{*now}), 0});
    }
  }
  for (const auto& [name, stays] : touched) {
    const auto known = revisions_.find(name);
    const etcd::Revision modified = known == revisions_.end() ? 0 : known->second;
    all.when.push_back({group_key(name), modified});
    if (!stays) all.deletes.push_back(group_key(name));
  }
  for (const std::string& server : absent) all.when.push_back({server_key(server), 0});
  const auto outcome = heard(etcd_.commit(all));
  unsure_ = !outcome.ok() || !outcome->done;
  if (!outcome.ok()) return outcome.error();
  if (!outcome->done) return false;
  for (const auto& [name, stays] : touched) {
    if (stays) {
      revisions_[name] = outcome->revision;
    } else {
      revisions_.erase(name);
    }
  }
  return true;
}

}  // namespace aqua::coordinator
