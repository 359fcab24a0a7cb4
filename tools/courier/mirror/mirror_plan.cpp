// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/mirror/mirror_plan.hpp"

#include <algorithm>

namespace aqua::courier {

void MirrorPlan::kept(const std::vector<SegmentStatus>& rows) {
  kept_.clear();
  for (const SegmentStatus& row : rows) {
    if (row.parcel == 0 && !row.copy_of && row.name.bytes != 0) kept_[row.name.number] = row.name;
  }
}

std::optional<MirrorPlan::Next> MirrorPlan::next() {
  const auto gone = std::ranges::find_if(held_, [&](const Original& original) {
    if (original.keeper != keeper_) return false;
    const auto now = kept_.find(original.number);
    return now == kept_.end() || now->second.generation != original.generation;
  });
  if (gone != held_.end()) {
    const Original original = *gone;
    held_.erase(gone);
    return Forget{original};
  }
  const auto wanted = std::ranges::find_if(
      kept_, [&](const auto& one) { return lacks(one.second) && !put_off_.contains(one.first); });
  if (wanted == kept_.end()) return std::nullopt;
  return wanted->second;
}

SegmentSum MirrorPlan::behind() const {
  SegmentSum sum;
  for (const auto& [number, name] : kept_) {
    if (!lacks(name)) continue;
    ++sum.segments;
    sum.bytes += name.bytes;
  }
  return sum;
}

}  // namespace aqua::courier
