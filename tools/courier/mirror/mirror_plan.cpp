// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/mirror/mirror_plan.hpp"

#include <algorithm>

namespace aqua::courier {

void MirrorPlan::restart() {
  held_.clear();
  held_found_.clear();
  refused_.clear();
  hopeless_.clear();
  full_ = false;
}

void MirrorPlan::kept(const std::vector<SegmentStatus>& rows) {
  std::map<Original, std::uint64_t> seen;
  kept_.clear();
  for (const SegmentStatus& row : rows) {
    if (row.parcel != 0 || row.copy_of || row.name.bytes == 0) continue;
    const Original original = original_of(row.name);
    const auto before = seen_.find(original);
    const std::uint64_t when = before != seen_.end() ? before->second : ++last_seen_;
    seen[original] = when;
    kept_[when] = row.name;
  }
  seen_ = std::move(seen);
  note_found();
}

void MirrorPlan::note_found() {
  for (const Original& original : held_) {
    if (original.keeper >= keeper_ || !is_kept(name_of(original))) continue;
    found_.insert(name_of(original));
    held_found_.insert(name_of(original));
  }
}

void MirrorPlan::no_room_for(const SegmentName& name) {
  refused_.insert(original_of(name));
  full_ = true;
}

std::optional<SegmentName> MirrorPlan::lacking() {
  if (full_) return std::nullopt;
  bool refused = false;
  for (const auto& [when, name] : kept_) {
    if (!lacks(name) || hopeless_.contains(original_of(name))) continue;
    if (!refused_.contains(original_of(name))) return name;
    refused = true;
  }
  if (!refused) return std::nullopt;
  refused_.clear();  // all have been tried
  return lacking();
}

std::optional<Original> MirrorPlan::needless() const {
  // The highest keeper before this one of which there is anything: the one before. Where this one
  // has no copies yet, nothing before it is needless, unless there is no room for them.
  std::uint64_t before = 0;
  bool replaced = full_;
  for (const Original& original : held_) {
    if (original.keeper < keeper_) before = std::max(before, original.keeper);
    replaced = replaced || original.keeper == keeper_ || found_.contains(name_of(original));
  }
  const auto found = std::ranges::find_if(held_, [&](const Original& original) {
    const Name name = name_of(original);
    // Where there are two copies of what is kept, the one that is not under this keeper's name
    // goes.
    if (is_kept(name)) {
      return original.keeper != keeper_ && held_.contains({keeper_, name.first, name.second});
    }
    if (original.keeper == keeper_ || found_.contains(name)) return true;
    return replaced && original.keeper < before;
  });
  return found == held_.end() ? std::nullopt : std::optional(*found);
}

std::optional<MirrorPlan::Next> MirrorPlan::next() {
  if (const auto name = lacking()) return *name;
  const auto original = needless();
  if (!original) return std::nullopt;
  held_.erase(*original);
  held_found_.erase(name_of(*original));
  full_ = false;  // there is room again, perhaps
  return Forget{*original};
}

SegmentSum MirrorPlan::behind() const {
  SegmentSum sum;
  for (const auto& [when, name] : kept_) {
    if (!lacks(name)) continue;
    ++sum.segments;
    sum.bytes += name.bytes;
  }
  return sum;
}

}  // namespace aqua::courier
