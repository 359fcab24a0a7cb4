// SPDX-License-Identifier: Apache-2.0
#include "groups/plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace aqua::groups {
namespace {

// The most that anybody has of one rank's KV of one sequence.
struct Best {
  std::uint64_t mark = 0;
  ClientId holder;
};
using Key = std::pair<Rank, std::uint64_t>;

// Members come in the order of their ids, so that of equals the lowest stays.
std::map<Key, Best> best_marks(const Group& group) {
  std::map<Key, Best> best;
  for (const auto& [client, member] : group.members) {
    for (const Watermark& mark : member.marks) {
      const auto [at, fresh] = best.try_emplace({mark.of, mark.sequence}, Best{mark.mark, client});
      if (!fresh && mark.mark > at->second.mark) at->second = {mark.mark, client};
    }
  }
  return best;
}

std::uint64_t own_mark(const Group& group, const Rank& rank, std::uint64_t sequence) {
  const Member* member = group.holder(rank);
  if (member == nullptr) return 0;
  const auto own = std::ranges::lower_bound(member->marks, Watermark{rank, sequence, 0});
  const bool found = own != member->marks.end() && own->of == rank && own->sequence == sequence;
  return found ? own->mark : 0;
}

}  // namespace

Plan make_plan(const Group& group) {
  const std::map<Key, Best> best = best_marks(group);
  std::set<std::pair<Role, std::uint64_t>> sequences;
  for (const auto& [key, _] : best) sequences.insert({key.first.role, key.second});
  const std::vector<Rank> ranks = group.topology.ranks();

  Plan plan;
  std::map<std::pair<Role, std::uint64_t>, std::uint64_t> resume;
  for (const auto& [role, sequence] : sequences) {
    std::uint64_t least = UINT64_MAX;
    for (const Rank& rank : ranks) {
      if (rank.role != role) continue;
      const auto found = best.find({rank, sequence});
      least = std::min(least, found == best.end() ? 0 : found->second.mark);
    }
    plan.resume.push_back({role, sequence, least});
    resume[{role, sequence}] = least;
  }
  for (const auto& [key, most] : best) {
    const auto& [rank, sequence] = key;
    if (own_mark(group, rank, sequence) < resume.at({rank.role, sequence}))
      plan.restore.push_back({rank, sequence, most.holder, most.mark});
  }
  return plan;
}

}  // namespace aqua::groups
