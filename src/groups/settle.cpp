// SPDX-License-Identifier: Apache-2.0
#include "groups/settle.hpp"

#include <algorithm>

#include "groups/plan.hpp"

namespace aqua::groups {
namespace {

// The one that has waited longest, of those that are heard of.
Member* next_standby(Group& group) {
  Member* next = nullptr;
  for (auto& [client, member] : group.members) {
    if (member.rank || member.silent) continue;
    if (next == nullptr || member.order < next->order) next = &member;
  }
  return next;
}

bool all_ranked(const Group& group, bool Member::*has) {
  return std::ranges::all_of(
      group.members, [has](const auto& entry) { return !entry.second.rank || entry.second.*has; });
}

void forget_recovery(Group& group) {
  group.plan.reset();
  for (auto& [client, member] : group.members) {
    member.acknowledged = false;
    member.resumed = false;
    member.marks.clear();
  }
}

}  // namespace

void begin_term(Group& group) {
  ++group.term;
  forget_recovery(group);
}

void settle(Group& group) {
  std::vector<Rank> empty = group.empty_ranks();
  if (group.state == State::forming) {
    if (empty.empty()) group.state = State::running;
    return;
  }
  std::size_t seated = 0;
  for (; seated < empty.size(); ++seated) {
    Member* standby = next_standby(group);
    if (standby == nullptr) break;
    standby->rank = empty[seated];
  }
  if (seated < empty.size()) {
    group.state = State::waiting;
  } else if (group.state == State::running && seated == 0) {
    return;
  } else if (!all_ranked(group, &Member::acknowledged)) {
    group.state = State::sealing;
  } else if (all_ranked(group, &Member::resumed)) {
    group.state = State::running;
    forget_recovery(group);
  } else {
    if (!group.plan) group.plan = make_plan(group);
    group.state = State::resuming;
  }
}

}  // namespace aqua::groups
