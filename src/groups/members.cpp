// SPDX-License-Identifier: Apache-2.0
// Who is in a group, and what its members say of a term.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "groups/book.hpp"
#include "groups/settle.hpp"

namespace aqua::groups {
namespace {

Result<void> same_shape(const Shape& group, const Shape& joins) {
  const auto differs = [](std::string_view what, std::string_view ours, std::string_view theirs) {
    return Error{Code::failed_precondition,
                 concat("join: ", what, " is \"", theirs, "\", the group's is \"", ours, "\"")};
  };
  if (group.model != joins.model) return differs("model", group.model, joins.model);
  if (group.dtype != joins.dtype) return differs("dtype", group.dtype, joins.dtype);
  if (group.layout != joins.layout) return differs("layout", group.layout, joins.layout);
  return {};
}

}  // namespace

Result<void> Book::join(const GroupId& id, const Caller& caller, const Join& request) {
  AQUA_ASSIGN(const Group* found, find(id));
  const Group& group = *found;
  if (caller.user != group.user) {
    return Error{Code::permission_denied,
                 concat("join: group \"", group.name, "\" is of another user's processes")};
  }
  AQUA_TRY(same_shape(group.shape, request.shape));
  if (request.name.size() > limits_.max_name) {
    return Error{Code::invalid_argument, concat("join: a name of ", request.name.size(),
                                                " bytes, at most ", limits_.max_name)};
  }
  if (request.rank && !group.topology.contains(*request.rank)) {
    return Error{Code::invalid_argument,
                 concat("join: group \"", group.name, "\" has no rank ", to_string(*request.rank))};
  }
  if (const auto known = group.members.find(caller.client); known != group.members.end()) {
    const auto& rank = known->second.rank;
    // A standby that has been given a rank meanwhile asks to stand by once more.
    if (!request.rank || rank == request.rank) return {};
    return Error{Code::already_exists, concat("join: the client is in group \"", group.name, "\" ",
                                              rank ? "as " + to_string(*rank) : "standing by")};
  }
  if (groups_of(caller.client).size() >= 2 * limits_.max_groups_of_client) {
    return Error{Code::resource_exhausted,
                 concat("join: the client is in ", 2 * limits_.max_groups_of_client, " groups")};
  }
  if (request.rank) {
    if (group.holder(*request.rank) != nullptr)
      return Error{Code::already_exists, concat("join: rank ", to_string(*request.rank),
                                                " of group \"", group.name, "\" has a member")};
  } else {
    const auto standbys = static_cast<std::size_t>(
        std::ranges::count_if(group.members, [](const auto& entry) { return !entry.second.rank; }));
    if (standbys >= limits_.max_standbys)
      return Error{Code::resource_exhausted,
                   concat("join: group \"", group.name, "\" has ", standbys, " standbys")};
  }
  Group& changed = edit(id);
  changed.members[caller.client] = {.client = caller.client,
                                    .name = request.name,
                                    .server = caller.server,
                                    .rank = request.rank,
                                    .order = ++changed.joins,
                                    .marks = {}};
  settle(changed);
  return {};
}

Result<void> Book::leave(const GroupId& id, const ClientId& client) {
  AQUA_ASSIGN(const Group* group, find(id));
  if (!group->members.contains(client)) {
    return Error{Code::not_found, concat("leave: client ", to_string(client), " is not in group \"",
                                         group->name, "\"")};
  }
  remove(id, client);
  return {};
}

void Book::gone(const GroupId& id, const ClientId& client) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  const bool is_creator = found->second.creator == client && !found->second.creator_gone;
  if (!is_creator && !found->second.members.contains(client)) return;
  Group& group = edit(id);
  if (is_creator) group.creator_gone = true;
  remove(id, client);
}

void Book::gone(const ClientId& client) {
  for (const GroupId& id : groups_of(client)) gone(id, client);
}

void Book::silent(const GroupId& id, const ClientId& client, bool is_silent) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  const auto member = found->second.members.find(client);
  if (member == found->second.members.end() || member->second.silent == is_silent) return;
  Group& group = edit(id);
  group.members.at(client).silent = is_silent;
  settle(group);
}

// --- recovery ------------------------------------------------------------------------------

Result<const Group*> Book::of_member(const GroupId& id, const ClientId& client, Term term,
                                     std::string_view operation) const {
  AQUA_ASSIGN(const Group* group, find(id));
  const auto member = group->members.find(client);
  if (member == group->members.end()) {
    return Error{Code::not_found, concat(operation, ": client ", to_string(client),
                                         " is not in group \"", group->name, "\"")};
  }
  if (!member->second.rank)
    return Error{Code::failed_precondition, concat(operation, ": the client stands by")};
  if (term < group->term) {
    return Error{Code::aborted, concat(operation, ": term ", term, " is over, group \"",
                                       group->name, "\" is in ", group->term)};
  }
  if (term > group->term) {
    return Error{Code::invalid_argument,
                 concat(operation, ": term ", term, " has never been, group \"", group->name,
                        "\" is in ", group->term)};
  }
  return group;
}

Result<void> Book::check_marks(const Group& group, const ClientId& client,
                               const std::vector<Watermark>& marks) const {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!group.topology.contains(marks[i].of)) {
      return Error{Code::invalid_argument,
                   concat("mark of rank ", to_string(marks[i].of), ", which is not there")};
    }
    if (i > 0 && marks[i].of == marks[i - 1].of && marks[i].sequence == marks[i - 1].sequence) {
      return Error{Code::invalid_argument, concat("two marks of sequence ", marks[i].sequence,
                                                  " of rank ", to_string(marks[i].of))};
    }
  }
  std::size_t others = 0;
  for (const auto& [id, member] : group.members) others += id == client ? 0 : member.marks.size();
  if (marks.size() > limits_.max_marks || others + marks.size() > limits_.max_marks_in_all) {
    return Error{Code::resource_exhausted,
                 concat(marks.size(), " marks of at most ", limits_.max_marks, " beside ", others,
                        " of others, in all ", limits_.max_marks_in_all)};
  }
  return {};
}

Result<void> Book::acknowledge(const GroupId& id, const ClientId& client, Term term,
                               std::vector<Watermark> marks) {
  AQUA_ASSIGN(const Group* group, of_member(id, client, term, "acknowledge"));
  std::ranges::sort(marks);
  if (const auto fit = check_marks(*group, client, marks); !fit.ok())
    return Error{fit.error().code, concat("acknowledge: ", fit.error().message)};
  if (group->state == State::forming)
    return Error{Code::failed_precondition, "acknowledge: the group still forms"};
  if (group->state == State::running || group->members.at(client).acknowledged) return {};
  Group& changed = edit(id);
  Member& member = changed.members.at(client);
  member.acknowledged = true;
  member.marks = std::move(marks);
  settle(changed);
  return {};
}

Result<void> Book::resumed(const GroupId& id, const ClientId& client, Term term) {
  AQUA_ASSIGN(const Group* group, of_member(id, client, term, "resumed"));
  if (group->state == State::running) return {};
  if (group->state != State::resuming) {
    return Error{Code::failed_precondition, concat("resumed: group \"", group->name, "\" is ",
                                                   to_string(group->state), ", no plan is told")};
  }
  if (group->members.at(client).resumed) return {};
  Group& changed = edit(id);
  changed.members.at(client).resumed = true;
  settle(changed);
  return {};
}

}  // namespace aqua::groups
