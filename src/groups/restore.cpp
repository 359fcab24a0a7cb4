// SPDX-License-Identifier: Apache-2.0
// A book from what was written down, and what must hold in every book.
#include <algorithm>
#include <set>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "groups/book.hpp"
#include "groups/plan.hpp"
#include "groups/settle.hpp"

namespace aqua::groups {
namespace {

Group group_of(const GroupRow& row) {
  Group group{.id = row.id,
              .name = row.name,
              .creator = row.creator,
              .creator_gone = row.creator_gone,
              .user = row.user,
              .topology = row.topology,
              .shape = row.shape,
              .state = row.state,
              .term = row.term,
              .joins = row.joins,
              .members = {},
              .plan = {}};
  for (const MemberRow& member : row.members) {
    group.members[member.client] = {.client = member.client,
                                    .name = member.name,
                                    .rank = member.rank,
                                    .order = member.order,
                                    .silent = true,
                                    .marks = {}};
  }
  return group;
}

// What holds of a group's rows alone; "" when all does.
std::string check_rows(const Group& group) {
  if (group.id.is_nil()) return "its id is nil";
  if (group.term == 0) return "its term is 0";
  if (group.state == State::closed) return "it is closed";
  std::set<Rank> ranks;
  std::set<std::uint64_t> orders;
  for (const auto& [client, member] : group.members) {
    if (member.client != client) return "a member under another's id";
    if (member.order == 0 || member.order > group.joins) return "a member that never joined";
    if (!orders.insert(member.order).second) return "two members joined at once";
    if (!member.rank) continue;
    if (!group.topology.contains(*member.rank)) return "a member of a rank that is not there";
    if (!ranks.insert(*member.rank).second)
      return concat("two members of rank ", to_string(*member.rank));
  }
  const bool whole = group.empty_ranks().empty();
  const bool needs_all = group.state != State::forming && group.state != State::waiting;
  if (needs_all && !whole) return concat(to_string(group.state), " with an empty rank");
  if (!needs_all && whole) return concat(to_string(group.state), " without an empty rank");
  if (group.members.empty() && group.creator_gone) return "nobody is left of it";
  return {};
}

std::string check_progress(const Group& group) {
  std::size_t ranked = 0;
  std::size_t acknowledged = 0;
  std::size_t resumed = 0;
  for (const auto& [client, member] : group.members) {
    if (!member.rank) {
      if (member.acknowledged || member.resumed) return "a standby that has acknowledged";
      continue;
    }
    if (member.resumed && !member.acknowledged) return "resumed and not acknowledged";
    if (!member.acknowledged && !member.marks.empty()) return "marks not acknowledged";
    if (!std::ranges::is_sorted(member.marks)) return "marks out of order";
    ++ranked;
    acknowledged += member.acknowledged ? 1 : 0;
    resumed += member.resumed ? 1 : 0;
  }
  const bool live_standby = std::ranges::any_of(
      group.members, [](const auto& entry) { return !entry.second.rank && !entry.second.silent; });
  switch (group.state) {
    case State::waiting:
      if (live_standby) return "waiting beside a live standby";
      break;
    case State::sealing:
      if (acknowledged == ranked) return "sealing, and all have acknowledged";
      break;
    case State::resuming:
      if (acknowledged != ranked || resumed == ranked) return "resuming at the wrong time";
      break;
    default:
      if (acknowledged != 0) return "acknowledged at the wrong time";
      break;
  }
  if (group.plan.has_value() != (group.state == State::resuming)) return "a plan at the wrong time";
  if (group.plan && *group.plan != make_plan(group)) return "a plan that does not follow";
  return {};
}

}  // namespace

// One more, which is consistent in itself and fits the others.
Result<void> Book::add(Group group) {
  const auto refuse = [&](const std::string& why) {
    return Error{Code::data_loss, concat("group ", to_string(group.id), ": ", why)};
  };
  if (auto fits = check_new(group.name, group.topology, group.shape); !fits.ok())
    return refuse(fits.error().message);
  if (const std::string fault = check_rows(group); !fault.empty()) return refuse(fault);
  if (groups_.contains(group.id)) return refuse("twice");
  if (!names_.emplace(group.name, group.id).second) return refuse("another has its name");
  groups_.emplace(group.id, std::move(group));
  return {};
}

Result<Book> Book::restore(Limits limits, const std::vector<GroupRow>& rows) {
  Book book(limits);
  for (const GroupRow& row : rows) {
    Group group = group_of(row);
    if (group.members.size() != row.members.size())
      return Error{Code::data_loss, concat("group ", to_string(row.id), ": a member twice")};
    AQUA_TRY(book.add(std::move(group)));
  }
  for (const auto& [id, group] : book.groups_) {
    if (group.state != State::resuming) continue;
    Group& changed = book.edit(id);
    begin_term(changed);
    settle(changed);
  }
  return book;
}

Result<Book> Book::of(Limits limits, std::vector<Group> groups) {
  Book book(limits);
  for (Group& group : groups) AQUA_TRY(book.add(std::move(group)));
  for (auto& [id, group] : book.groups_) {
    const auto refuse = [&what = id](std::string_view why) {
      return Error{Code::data_loss, concat("group ", to_string(what), ": ", why)};
    };
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (group.term > kMost || group.version > kMost || group.joins > kMost)
      return refuse("a number too large to grow");
    for (const auto& [client, member] : group.members) {
      if (const auto fit = book.check_marks(group, client, member.marks); !fit.ok())
        return refuse(fit.error().message);
    }
    if (group.state == State::resuming) group.plan = make_plan(group);
  }
  if (std::string fault = book.check_invariants(); !fault.empty())
    return Error{Code::data_loss, std::move(fault)};
  return book;
}

std::string Book::check_invariants() const {
  if (names_.size() != groups_.size()) return "groups: names and groups differ in number";
  for (const auto& [id, group] : groups_) {
    const auto named = names_.find(group.name);
    if (group.id != id || named == names_.end() || named->second != id)
      return concat("group ", to_string(id), ": is not found by its name");
    for (const std::string& fault : {check_rows(group), check_progress(group)}) {
      if (!fault.empty()) return concat("group ", to_string(id), ": ", fault);
    }
  }
  return {};
}

}  // namespace aqua::groups
