// SPDX-License-Identifier: Apache-2.0
#include "groups/types.hpp"

#include "base/concat.hpp"

namespace aqua::groups {

std::vector<Rank> Topology::ranks() const {
  std::vector<Rank> all;
  for (const Role role : kRoles) {
    const Pipeline& pipeline = of(role);
    for (std::uint32_t stage = 0; stage < pipeline.stages; ++stage) {
      for (std::uint32_t tensor = 0; tensor < pipeline.tensor; ++tensor)
        all.push_back({role, stage, tensor});
    }
  }
  return all;
}

const Member* Group::holder(const Rank& rank) const {
  for (const auto& [client, member] : members) {
    if (member.rank == rank) return &member;
  }
  return nullptr;
}

std::vector<Rank> Group::empty_ranks() const {
  std::vector<Rank> empty = topology.ranks();
  std::erase_if(empty, [this](const Rank& rank) { return holder(rank) != nullptr; });
  return empty;
}

GroupRow row_of(const Group& group) {
  GroupRow row{.id = group.id,
               .name = group.name,
               .creator = group.creator,
               .creator_gone = group.creator_gone,
               .user = group.user,
               .topology = group.topology,
               .shape = group.shape,
               .state = group.state,
               .term = group.term,
               .joins = group.joins,
               .members = {}};
  for (const auto& [client, member] : group.members)
    row.members.push_back({client, member.name, member.rank, member.order});
  return row;
}

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::prefill:
      return "prefill";
    case Role::decode:
      return "decode";
  }
  return "decode";
}

std::string_view to_string(State state) noexcept {
  switch (state) {
    case State::forming:
      return "forming";
    case State::running:
      return "running";
    case State::waiting:
      return "waiting";
    case State::sealing:
      return "sealing";
    case State::resuming:
      return "resuming";
    case State::closed:
      return "closed";
  }
  return "closed";
}

std::string to_string(const Rank& rank) {
  return concat(to_string(rank.role), " ", rank.stage, ".", rank.tensor);
}

}  // namespace aqua::groups
