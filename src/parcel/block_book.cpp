// SPDX-License-Identifier: Apache-2.0
#include "parcel/block_book.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

template <typename... What>
Error wrong_call(const What&... what) {
  return Error{Code::invalid_argument, concat(what...)};
}

}  // namespace

Result<void> check_blocks(const char* call, BlockList blocks, std::size_t of) {
  std::unordered_set<std::uint32_t> seen;
  for (const std::uint32_t block : blocks) {
    if (block >= of) return wrong_call(call, ": block ", block, " of a pool of ", of);
    if (!seen.insert(block).second) return wrong_call(call, ": block ", block, " is named twice");
  }
  return {};
}

bool BlockBook::has_taken(MemberNumber member, Holder holder) const {
  return holder.kind == Holder::Kind::parcel && parcels_.at(holder.number).taker == member;
}

bool BlockBook::shares(MemberNumber member, std::uint32_t block) const {
  const auto found = sharers_.find(block);
  return found != sharers_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const auto& sharer) {
           return sharer.first == of_member(member) || has_taken(member, sharer.first);
         });
}

Blocks BlockBook::grant(MemberNumber member, std::uint32_t most) {
  Blocks granted;
  while (granted.size() < most && free_blocks() != 0) {
    const std::uint32_t block = free_.empty() ? untouched_++ : free_.extract(free_.begin()).value();
    all_[block] = of_member(member);
    has_more(member);
    granted.push_back(block);
  }
  return granted;
}

Result<void> BlockBook::give_back(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_blocks("give back", blocks, all_.size()));
  const Holder self = of_member(member);
  for (const std::uint32_t block : blocks) {
    if (all_[block] == self) continue;
    const auto shared = sharers_.find(block);
    if (shared != sharers_.end() && shared->second.contains(self)) continue;
    if (has_taken(member, all_[block]) || shares(member, block)) {
      return Error{Code::failed_precondition,
                   concat("give back: block ", block, " is of a parcel, which has to be finished")};
    }
    return wrong_call("give back: block ", block, " is not the caller's");
  }
  for (const std::uint32_t block : blocks) {
    if (let_go(block, self)) set_free(block, /*is_quiet=*/true);
  }
  return {};
}

Result<void> BlockBook::share(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_blocks("share", blocks, all_.size()));
  const Holder self = of_member(member);
  for (const std::uint32_t block : blocks) {
    const bool has = all_[block] == self || has_taken(member, all_[block]) || shares(member, block);
    if (!has) return wrong_call("share: block ", block, " is not the caller's");
  }
  for (const std::uint32_t block : blocks) {
    const bool had = all_[block] == self;
    if (all_[block].kind == Holder::Kind::parcel) {
      add_sharer(block, all_[block]);
      --parcels_.at(all_[block].number).alone;
    }
    if (add_sharer(block, self) && !had) has_more(member);
    all_[block] = {Holder::Kind::sharers};
  }
  return {};
}

Result<void> BlockBook::check_gather(MemberNumber member, std::uint64_t taken,
                                     const Blocks& blocks) const {
  AQUA_TRY(check_blocks("offer", blocks, all_.size()));
  const Holder self = of_member(member);
  const Holder carried = of_parcel(taken);
  for (const std::uint32_t block : blocks) {
    if (all_[block] == self || all_[block] == carried) continue;
    const auto shared = sharers_.find(block);
    if (shared != sharers_.end() &&
        (shared->second.contains(self) || shared->second.contains(carried))) {
      continue;
    }
    return wrong_call("offer: block ", block, " is not the caller's");
  }
  return {};
}

void BlockBook::gather(std::uint64_t number, std::uint64_t taken, const Blocks& blocks) {
  const Holder parcel = of_parcel(number);
  std::uint32_t alone = 0;
  for (const std::uint32_t block : blocks) {
    if (all_[block].kind == Holder::Kind::sharers) {
      add_sharer(block, parcel);
    } else {
      if (all_[block].kind == Holder::Kind::member) has_less(all_[block].number);
      all_[block] = parcel;
      ++alone;
    }
  }
  parcels_[number] = {.blocks = blocks, .alone = alone};
  drop(taken);
}

void BlockBook::drop(std::uint64_t number, MemberNumber member) {
  const auto found = parcels_.find(number);
  if (found == parcels_.end()) return;
  for (const std::uint32_t block : found->second.blocks) {
    if (member != 0) {
      if (all_[block].kind == Holder::Kind::sharers) {
        if (add_sharer(block, of_member(member))) has_more(member);
      } else if (all_[block] == of_parcel(number)) {
        all_[block] = of_member(member);
        has_more(member);
      }
    }
    if (let_go(block, of_parcel(number))) set_free(block, /*is_quiet=*/true);
  }
  parcels_.erase(found);
}

void BlockBook::doubt(std::uint64_t number, std::size_t first) {
  const Blocks& blocks = parcels_.at(number).blocks;
  // Also what is shared: the taker may have written it before it shared it.
  for (std::size_t i = first; i < blocks.size(); ++i) in_doubt_.insert(blocks[i]);
}

bool BlockBook::is_in_doubt(std::uint64_t number) const {
  const Blocks& blocks = parcels_.at(number).blocks;
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](std::uint32_t block) { return in_doubt_.contains(block); });
}

void BlockBook::end(MemberNumber member, bool is_quiet) {
  gone_.erase(member);
  const Holder self = of_member(member);
  for (std::uint32_t block = 0; block < all_.size(); ++block) {
    if (all_[block] == self && let_go(block, self)) set_free(block, is_quiet);
  }
  Blocks shared;
  for (const auto& [block, sharers] : sharers_) {
    const auto found = sharers.find(self);
    if (found != sharers.end()) shared.insert(shared.end(), found->second, block);
  }
  for (const std::uint32_t block : shared) {
    if (let_go(block, self)) set_free(block, is_quiet);
  }
}

std::uint32_t BlockBook::release_quarantined() {
  std::uint32_t released = 0;
  in_doubt_.clear();
  for (std::uint32_t block = 0; block < all_.size(); ++block) {
    if (all_[block].kind != Holder::Kind::quarantine) continue;
    set_free(block, /*is_quiet=*/true);
    ++released;
  }
  return released;
}

bool BlockBook::add_sharer(std::uint32_t block, Holder holder) {
  const bool is_new = ++sharers_[block][holder] == 1;
  if (is_new) ++sharings_;
  return is_new;
}

bool BlockBook::let_go(std::uint32_t block, Holder holder) {
  const auto shared = sharers_.find(block);
  if (shared != sharers_.end()) {
    const auto found = shared->second.find(holder);
    if (found == shared->second.end()) return false;
    if (--found->second == 0) {
      shared->second.erase(found);
      --sharings_;
      if (holder.kind == Holder::Kind::member) has_less(holder.number);
    }
    if (!shared->second.empty()) return false;
    sharers_.erase(shared);
    return true;
  }
  if (all_[block] != holder) return false;
  if (holder.kind == Holder::Kind::member) has_less(holder.number);
  return true;
}

void BlockBook::has_less(MemberNumber member) {
  const auto had = had_.find(member);
  if (--had->second == 0) had_.erase(had);
}

void BlockBook::set_free(std::uint32_t block, bool is_quiet) {
  if (in_doubt_.erase(block) != 0) is_quiet = false;
  all_[block] = {is_quiet ? Holder::Kind::nobody : Holder::Kind::quarantine};
  if (is_quiet) free_.insert(block);
}

std::uint32_t BlockBook::had_by(MemberNumber member) const {
  const auto had = had_.find(member);
  return had == had_.end() ? 0 : had->second;
}

PoolCounts BlockBook::counts() const {
  PoolCounts counts{.free = free_blocks(), .shared = static_cast<std::uint32_t>(sharers_.size())};
  const auto count_of = [&](MemberNumber member) -> std::uint32_t& {
    return gone_.contains(member) ? counts.orphaned : counts.owned;
  };
  for (const Holder& holder : all_) {
    if (holder.kind == Holder::Kind::member) ++count_of(holder.number);
    if (holder.kind == Holder::Kind::quarantine) ++counts.quarantined;
    if (holder.kind != Holder::Kind::parcel) continue;
    const MemberNumber taker = parcels_.at(holder.number).taker;
    ++(taker == 0 ? counts.offered : count_of(taker));
  }
  return counts;
}

}  // namespace aqua
