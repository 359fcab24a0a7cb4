// SPDX-License-Identifier: Apache-2.0
#include "groups/book.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/shares.hpp"
#include "base/try.hpp"
#include "groups/settle.hpp"

namespace aqua::groups {
namespace {

Error unknown(const GroupId& id) {
  return Error{Code::not_found, concat("group ", to_string(id), ": there is none")};
}

Result<void> check_text(std::string_view what, std::string_view text, std::size_t max) {
  if (!text.empty() && text.size() <= max) return {};
  return Error{Code::invalid_argument,
               concat("create: ", what, " has ", text.size(), " bytes, not 1 to ", max)};
}

}  // namespace

// --- groups ----------------------------------------------------------------------------------

Result<void> Book::check_new(std::string_view name, const Topology& topology,
                             const Shape& shape) const {
  AQUA_TRY(check_text("name", name, limits_.max_name));
  AQUA_TRY(check_text("model", shape.model, limits_.max_name));
  AQUA_TRY(check_text("dtype", shape.dtype, limits_.max_name));
  AQUA_TRY(check_text("layout", shape.layout, limits_.max_layout));
  std::size_t ranks = 0;
  for (const Role role : kRoles) {
    const Pipeline& pipeline = topology.of(role);
    const bool fits = pipeline.stages <= limits_.max_ranks && pipeline.tensor <= limits_.max_ranks;
    if (!fits || pipeline.tensor == 0) {
      return Error{Code::invalid_argument,
                   concat("create: ", to_string(role), " of ", pipeline.stages, " x ",
                          pipeline.tensor, " ranks, at most ", limits_.max_ranks)};
    }
    ranks += std::size_t{pipeline.stages} * pipeline.tensor;
  }
  if (ranks > 0 && ranks <= limits_.max_ranks) return {};
  return Error{Code::invalid_argument,
               concat("create: ", ranks, " ranks, not 1 to ", limits_.max_ranks)};
}

Result<void> Book::create(const GroupId& id, std::string_view name, const Topology& topology,
                          const Shape& shape, const Caller& creator) {
  AQUA_TRY(check_new(name, topology, shape));
  if (names_.contains(name) || groups_.contains(id))
    return Error{Code::already_exists, concat("create: there is a group \"", name, "\"")};
  const auto count = [this](auto&& of) {
    return static_cast<std::size_t>(
        std::ranges::count_if(groups_, [&](const auto& entry) { return of(entry.second); }));
  };
  const auto refuse = [&](const auto&... who) {
    return Error{Code::resource_exhausted,
                 concat("create: ", who..., " groups of at most ", limits_.max_groups, " in all")};
  };
  if (groups_.size() >= limits_.max_groups) return refuse(groups_.size());
  const std::size_t of_user = count([&](const Group& group) { return group.user == creator.user; });
  if (of_user >= share_of_user(limits_.max_groups))
    return refuse("user ", creator.user, " has ", of_user);
  const std::size_t of_client =
      count([&](const Group& group) { return group.creator == creator.client; });
  if (of_client >= limits_.max_groups_of_client) {
    return Error{Code::resource_exhausted, concat("create: the client has created ", of_client,
                                                  " of at most ", limits_.max_groups_of_client)};
  }
  before_.try_emplace(id, std::nullopt);
  groups_[id] = Group{.id = id,
                      .name = std::string(name),
                      .creator = creator.client,
                      .server = creator.server,
                      .user = creator.user,
                      .topology = topology,
                      .shape = shape,
                      .members = {},
                      .plan = {}};
  names_.emplace(name, id);
  return {};
}

Result<void> Book::close(const GroupId& id, const Caller& caller) {
  AQUA_ASSIGN(const Group* group, find(id));
  if (group->creator != caller.client && !group->members.contains(caller.client)) {
    return Error{Code::permission_denied,
                 concat("close: client ", to_string(caller.client),
                        " is neither the creator of group \"", group->name, "\" nor in it")};
  }
  end(id);
  return {};
}

Result<void> Book::close(const GroupId& id) {
  AQUA_TRY(find(id));
  end(id);
  return {};
}

// --- changes ---------------------------------------------------------------------------------

Group& Book::edit(const GroupId& id) {
  Group& group = groups_.at(id);
  if (before_.try_emplace(id, group).second) ++group.version;
  return group;
}

void Book::end(const GroupId& id) {
  names_.erase(edit(id).name);
  groups_.erase(id);
}

// Also called for a client that is not a member: the group may end with its creator.
void Book::remove(const GroupId& id, const ClientId& client) {
  Group& group = edit(id);
  if (const auto member = group.members.find(client); member != group.members.end()) {
    const bool had_rank = member->second.rank.has_value();
    group.members.erase(member);
    if (had_rank) begin_term(group);
  }
  if (group.members.empty() && group.creator_gone) return end(id);
  settle(group);
}

std::set<GroupId> Book::groups_of(const ClientId& client) const {
  std::set<GroupId> found;
  for (const auto& [id, group] : groups_) {
    const bool created = group.creator == client && !group.creator_gone;
    if (created || group.members.contains(client)) found.insert(id);
  }
  return found;
}

Book::Changes Book::changes() const {
  Changes all;
  for (const auto& [id, before] : before_) {
    const auto now = groups_.find(id);
    if (now == groups_.end()) {
      if (before) all.gone.push_back(id);
    } else if (GroupRow row = row_of(now->second); !before || row != row_of(*before)) {
      all.put.push_back(std::move(row));
    }
  }
  return all;
}

std::vector<GroupId> Book::touched() const {
  std::vector<GroupId> all;
  for (const auto& [id, before] : before_) all.push_back(id);
  return all;
}

const Group* Book::before(const GroupId& id) const {
  const auto found = before_.find(id);
  return found == before_.end() || !found->second ? nullptr : &*found->second;
}

// --- reading -----------------------------------------------------------------------------

Result<const Group*> Book::find(const GroupId& id) const {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return unknown(id);
  return &found->second;
}

std::optional<GroupId> Book::named(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::set<ClientId> Book::clients() const {
  std::set<ClientId> all;
  for (const auto& [id, group] : groups_) {
    if (!group.creator_gone) all.insert(group.creator);
    for (const auto& [client, member] : group.members) all.insert(client);
  }
  return all;
}

std::set<ClientId> Book::clients_of(std::string_view server) const {
  std::set<ClientId> all;
  for (const auto& [id, group] : groups_) {
    if (!group.creator_gone && group.server == server) all.insert(group.creator);
    for (const auto& [client, member] : group.members) {
      if (member.server == server) all.insert(client);
    }
  }
  return all;
}

}  // namespace aqua::groups
