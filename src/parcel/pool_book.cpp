// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_book.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/concat.hpp"
#include "base/keeper/limits.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

template <typename... What>
Error wrong_call(const What&... what) {
  return Error{Code::invalid_argument, concat(what...)};
}

}  // namespace

Result<void> check_role(const char* call, const std::string& role) {
  if (!role.empty() && role.size() <= keeper_wire::kLongestName && is_plain(role)) return {};
  return wrong_call(call, ": a role of ", role.size(), " bytes, which has to be 1 to ",
                    keeper_wire::kLongestName, " of printable ASCII");
}

Result<void> check_parcel(const char* call, const Parcel& parcel) {
  const std::string& id = parcel.id;
  if (id.empty() || id.size() > PoolBook::kLongestId || !is_plain(id)) {
    return wrong_call(call, ": an id of ", id.size(), " bytes, which has to be 1 to ",
                      PoolBook::kLongestId, " of printable ASCII");
  }
  if (parcel.note.size() <= PoolBook::kLongestNote) return {};
  return wrong_call(call, ": ", id, ": a note of ", parcel.note.size(), " bytes, of at most ",
                    PoolBook::kLongestNote);
}

Result<void> check_blocks(const char* call, BlockList blocks, std::size_t of) {
  std::unordered_set<std::uint32_t> seen;
  for (const std::uint32_t block : blocks) {
    if (block >= of) return wrong_call(call, ": block ", block, " of a pool of ", of);
    if (!seen.insert(block).second) return wrong_call(call, ": block ", block, " is named twice");
  }
  return {};
}

Result<void> PoolBook::check_member(const char* call, MemberNumber member) const {
  const auto found = members_.find(member);
  if (found != members_.end() && !found->second.gone) return {};
  return Error{Code::not_found, concat(call, ": the caller is no member of the pool")};
}

bool PoolBook::has_taken(MemberNumber member, Holder holder) const {
  return holder.kind == Holder::Kind::parcel && parcels_.at(holder.number).taker == member;
}

bool PoolBook::shares(MemberNumber member, std::uint32_t block) const {
  const auto found = sharers_.find(block);
  return found != sharers_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const auto& sharer) {
           return sharer.first == of_member(member) || has_taken(member, sharer.first);
         });
}

std::vector<std::uint64_t> PoolBook::namesakes(const std::string& id) const {
  std::vector<std::uint64_t> numbers;
  const auto [first, last] = by_id_.equal_range(id);
  for (auto it = first; it != last; ++it) {
    if (!parcels_.at(it->second).superseded) numbers.push_back(it->second);
  }
  return numbers;
}

Result<void> PoolBook::join(MemberNumber member, const std::string& role) {
  AQUA_TRY(check_role("join", role));
  if (members_.contains(member)) {
    return Error{Code::already_exists, "join: the caller is a member of the pool"};
  }
  members_[member] = {.role = role};
  return {};
}

Result<Blocks> PoolBook::grant(MemberNumber member, std::uint32_t most) {
  AQUA_TRY(check_member("grant", member));
  Blocks granted;
  while (granted.size() < most && free_blocks() != 0) {
    const std::uint32_t block = free_.empty() ? untouched_++ : free_.extract(free_.begin()).value();
    all_[block] = of_member(member);
    granted.push_back(block);
  }
  return granted;
}

Result<void> PoolBook::give_back(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_member("give back", member));
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
  for (const std::uint32_t block : blocks) let_go(block, self);
  return {};
}

Result<void> PoolBook::share(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_member("share", member));
  AQUA_TRY(check_blocks("share", blocks, all_.size()));
  const Holder self = of_member(member);
  for (const std::uint32_t block : blocks) {
    const bool has = all_[block] == self || has_taken(member, all_[block]) || shares(member, block);
    if (!has) return wrong_call("share: block ", block, " is not the caller's");
  }
  for (const std::uint32_t block : blocks) {
    if (all_[block].kind == Holder::Kind::parcel) sharers_[block][all_[block]] = 1;
    ++sharers_[block][self];
    all_[block] = {Holder::Kind::sharers};
  }
  return {};
}

std::uint64_t PoolBook::taken_as(MemberNumber member, const std::string& id) const {
  const auto [first, last] = by_id_.equal_range(id);
  const auto found = std::find_if(
      first, last, [&](const auto& entry) { return parcels_.at(entry.second).taker == member; });
  return found == last ? 0 : found->second;
}

Result<void> PoolBook::check_offer(MemberNumber member, const Parcel& parcel) const {
  for (const std::uint64_t number : namesakes(parcel.id)) {
    const std::uint64_t turn = parcels_.at(number).parcel.turn;
    if (parcel.turn > turn) continue;
    return Error{Code::aborted, concat("offer: ", parcel.id, ": turn ", parcel.turn, ", and turn ",
                                       turn, " has been offered")};
  }
  const Holder self = of_member(member);
  const Holder taken = of_parcel(taken_as(member, parcel.id));
  for (const std::uint32_t block : parcel.blocks) {
    if (all_[block] == self || all_[block] == taken) continue;
    const auto shared = sharers_.find(block);
    if (shared != sharers_.end() &&
        (shared->second.contains(self) || shared->second.contains(taken))) {
      continue;
    }
    return wrong_call("offer: ", parcel.id, ": block ", block, " is not the caller's");
  }
  return {};
}

Result<std::uint64_t> PoolBook::offer(MemberNumber member, const std::string& role, Parcel parcel) {
  AQUA_TRY(check_member("offer", member));
  AQUA_TRY(check_role("offer", role));
  AQUA_TRY(check_parcel("offer", parcel));
  AQUA_TRY(check_blocks("offer", parcel.blocks, all_.size()));
  AQUA_TRY(check_offer(member, parcel));
  if (parcels_.size() >= kMostParcels) {
    return Error{Code::resource_exhausted, concat("offer: ", parcels_.size(), " parcels")};
  }
  const std::uint64_t number = ++last_;
  const std::uint64_t ended = taken_as(member, parcel.id);
  for (const std::uint32_t block : parcel.blocks) {
    if (all_[block].kind == Holder::Kind::sharers) {
      ++sharers_[block][of_parcel(number)];
    } else {
      all_[block] = of_parcel(number);
    }
  }
  if (ended != 0) end_parcel(ended);
  for (const std::uint64_t other : namesakes(parcel.id)) {
    if (parcels_.at(other).taker != 0) {
      parcels_.at(other).superseded = true;
    } else {
      end_parcel(other);
    }
  }
  parcel.number = number;
  by_id_.emplace(parcel.id, number);
  waiting_[role].insert(number);
  parcels_[number] = {.parcel = std::move(parcel), .role = role};
  return number;
}

const Parcel* PoolBook::next_for(MemberNumber member) const {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.gone) return nullptr;
  const auto queue = waiting_.find(found->second.role);
  return queue == waiting_.end() ? nullptr : &parcels_.at(*queue->second.begin()).parcel;
}

Result<std::vector<Parcel>> PoolBook::accept(MemberNumber member, std::size_t most) {
  AQUA_TRY(check_member("accept", member));
  std::vector<Parcel> taken;
  while (taken.size() < most) {
    const Parcel* const next = next_for(member);
    if (next == nullptr) break;
    taken.push_back(*next);
    Kept& kept = parcels_.at(next->number);
    kept.taker = member;
    stop_waiting(kept);
  }
  return taken;
}

Result<void> PoolBook::finish(MemberNumber member, std::uint64_t number) {
  AQUA_TRY(check_member("finish", member));
  const auto found = parcels_.find(number);
  if (found == parcels_.end() || found->second.taker != member) {
    return Error{Code::not_found, concat("finish: the caller has taken no parcel ", number)};
  }
  end_parcel(number);
  return {};
}

Result<void> PoolBook::cancel(const std::string& id) {
  for (const std::uint64_t number : namesakes(id)) {
    if (parcels_.at(number).taker != 0) continue;
    end_parcel(number);
    return {};
  }
  return Error{Code::not_found, concat("cancel: no parcel of '", id.substr(0, 40), "' waits")};
}

void PoolBook::gone(MemberNumber member) {
  const auto found = members_.find(member);
  if (found != members_.end()) found->second.gone = true;
}

void PoolBook::end(MemberNumber member) {
  if (members_.erase(member) == 0) return;
  const Holder self = of_member(member);
  for (std::uint32_t block = 0; block < all_.size(); ++block) {
    if (all_[block] == self) let_go(block, self);
  }
  Blocks shared;
  for (const auto& [block, sharers] : sharers_) {
    const auto found = sharers.find(self);
    if (found != sharers.end()) shared.insert(shared.end(), found->second, block);
  }
  for (const std::uint32_t block : shared) let_go(block, self);
  std::vector<std::uint64_t> taken;
  for (const auto& [number, kept] : parcels_) {
    if (kept.taker == member) taken.push_back(number);
  }
  for (const std::uint64_t number : taken) {
    Kept& kept = parcels_.at(number);
    if (kept.superseded) {
      end_parcel(number);
      continue;
    }
    kept.taker = 0;
    waiting_[kept.role].insert(number);
  }
}

// Does nothing where `holder` does not have the block.
void PoolBook::let_go(std::uint32_t block, Holder holder) {
  const auto shared = sharers_.find(block);
  if (shared != sharers_.end()) {
    const auto found = shared->second.find(holder);
    if (found == shared->second.end()) return;
    if (--found->second == 0) shared->second.erase(found);
    if (!shared->second.empty()) return;
    sharers_.erase(shared);
  } else if (all_[block] != holder) {
    return;
  }
  all_[block] = {};
  free_.insert(block);
}

void PoolBook::stop_waiting(const Kept& kept) {
  const auto queue = waiting_.find(kept.role);
  if (queue == waiting_.end()) return;
  queue->second.erase(kept.parcel.number);
  if (queue->second.empty()) waiting_.erase(queue);
}

void PoolBook::end_parcel(std::uint64_t number) {
  const Kept& kept = parcels_.at(number);
  for (const std::uint32_t block : kept.parcel.blocks) let_go(block, of_parcel(number));
  stop_waiting(kept);
  const auto [first, last] = by_id_.equal_range(kept.parcel.id);
  by_id_.erase(
      std::find_if(first, last, [&](const auto& entry) { return entry.second == number; }));
  parcels_.erase(number);
}

bool PoolBook::has_any(MemberNumber member) const {
  const Holder self = of_member(member);
  return std::find(all_.begin(), all_.end(), self) != all_.end() ||
         std::any_of(sharers_.begin(), sharers_.end(),
                     [&](const auto& shared) { return shared.second.contains(self); }) ||
         std::any_of(parcels_.begin(), parcels_.end(),
                     [&](const auto& kept) { return kept.second.taker == member; });
}

PoolCounts PoolBook::counts() const {
  PoolCounts counts{.free = free_blocks(), .shared = static_cast<std::uint32_t>(sharers_.size())};
  const auto count_of = [&](MemberNumber member) -> std::uint32_t& {
    return members_.at(member).gone ? counts.orphaned : counts.owned;
  };
  for (const Holder& holder : all_) {
    if (holder.kind == Holder::Kind::member) ++count_of(holder.number);
    if (holder.kind != Holder::Kind::parcel) continue;
    const MemberNumber taker = parcels_.at(holder.number).taker;
    ++(taker == 0 ? counts.offered : count_of(taker));
  }
  return counts;
}

std::size_t PoolBook::waiting() const {
  std::size_t count = 0;
  for (const auto& [role, numbers] : waiting_) count += numbers.size();
  return count;
}

std::size_t PoolBook::waiting(const std::string& role) const {
  const auto found = waiting_.find(role);
  return found == waiting_.end() ? 0 : found->second.size();
}

}  // namespace aqua
