// SPDX-License-Identifier: Apache-2.0
#include "parcel/member_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {

Error MemberBlocks::foreign(const char* call, std::uint32_t block) const {
  return Error{Code::invalid_argument, concat(call, ": block ", block, " is not this member's")};
}

const Parcel* MemberBlocks::taken_as(const std::string& id) const {
  const auto found = std::find_if(taken_.begin(), taken_.end(),
                                  [&](const auto& entry) { return entry.second.id == id; });
  return found == taken_.end() ? nullptr : &found->second;
}

void MemberBlocks::set_used(const Blocks& blocks, State state) {
  for (const std::uint32_t block : blocks) states_[block] = state;
  used_ = state == State::used ? used_ + blocks.size() : used_ - blocks.size();
}

void MemberBlocks::idle(const Blocks& blocks) {
  for (const std::uint32_t block : blocks) states_[block] = State::idle;
  idle_.insert(idle_.end(), blocks.rbegin(), blocks.rend());
}

Result<Blocks> MemberBlocks::allocate(std::size_t count) {
  if (count > idle_.size()) {
    return Error{Code::resource_exhausted,
                 concat("allocate: ", count, " blocks of ", states_.size(), ", and ", idle_.size(),
                        " are idle here")};
  }
  Blocks blocks(idle_.rbegin(), idle_.rbegin() + static_cast<std::ptrdiff_t>(count));
  idle_.resize(idle_.size() - count);
  set_used(blocks, State::used);
  return blocks;
}

Result<MemberBlocks::Released> MemberBlocks::release(BlockList blocks) {
  AQUA_TRY(check_blocks("release", blocks, states_.size()));
  Released released;
  for (const std::uint32_t block : blocks) {
    if (states_[block] == State::used) {
      released.own.push_back(block);
    } else if (shared_.contains(block)) {
      released.shared.push_back(block);
    } else {
      return foreign("release", block);
    }
  }
  set_used(released.own, State::none);
  for (const std::uint32_t block : released.shared) {
    if (--shared_[block] == 0) shared_.erase(block);
  }
  return released;
}

Blocks MemberBlocks::surplus(std::size_t most) {
  if (idle_.size() <= most) return {};
  // The first ones have been idle for longest.
  const auto end = idle_.begin() + static_cast<std::ptrdiff_t>(idle_.size() - most);
  Blocks blocks(idle_.begin(), end);
  idle_.erase(idle_.begin(), end);
  for (const std::uint32_t block : blocks) states_[block] = State::none;
  return blocks;
}

Result<void> MemberBlocks::share(BlockList blocks) {
  AQUA_TRY(check_blocks("share", blocks, states_.size()));
  std::unordered_set<std::uint32_t> in_parcels;
  for (const auto& [number, parcel] : taken_) {
    in_parcels.insert(parcel.blocks.begin(), parcel.blocks.end());
  }
  Blocks own;
  for (const std::uint32_t block : blocks) {
    if (states_[block] == State::used) {
      own.push_back(block);
    } else if (!shared_.contains(block) && !in_parcels.contains(block)) {
      return foreign("share", block);
    }
  }
  set_used(own, State::none);
  for (const std::uint32_t block : blocks) ++shared_[block];
  return {};
}

Result<MemberBlocks::HandedOver> MemberBlocks::hand_over(Parcel parcel, std::string role) {
  AQUA_TRY(check_parcel("hand_over", parcel));
  AQUA_TRY(check_role("hand_over", role));
  AQUA_TRY(check_blocks("hand_over", parcel.blocks, states_.size()));
  const Parcel* const taken = taken_as(parcel.id);
  const std::unordered_set<std::uint32_t> carried =
      taken == nullptr
          ? std::unordered_set<std::uint32_t>()
          : std::unordered_set<std::uint32_t>(taken->blocks.begin(), taken->blocks.end());
  HandedOver handed;
  for (const std::uint32_t block : parcel.blocks) {
    if (states_[block] == State::used) {
      handed.own.push_back(block);
    } else if (!shared_.contains(block) && !carried.contains(block)) {
      return foreign("hand_over", block);
    }
  }
  set_used(handed.own, State::none);
  if (taken != nullptr) {
    handed.taken = *taken;
    taken_.erase(handed.taken->number);
  }
  handed.parcel = std::move(parcel);
  handed.role = std::move(role);
  return handed;
}

void MemberBlocks::undo(const HandedOver& handed) {
  set_used(handed.own, State::used);
  if (handed.taken) taken(*handed.taken);
}

Blocks MemberBlocks::shared_in(const HandedOver& handed) {
  const std::unordered_set<std::uint32_t> own(handed.own.begin(), handed.own.end());
  Blocks shared;
  std::ranges::copy_if(handed.parcel.blocks, std::back_inserter(shared),
                       [&](std::uint32_t block) { return !own.contains(block); });
  return shared;
}

Result<void> MemberBlocks::finish(std::uint64_t number) {
  if (taken_.erase(number) != 0) return {};
  return Error{Code::not_found, concat("finish: no parcel ", number, " is this member's")};
}

}  // namespace aqua
