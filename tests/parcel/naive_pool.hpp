// SPDX-License-Identifier: Apache-2.0
// A second record of a KV pool, as plain as it can be: a list of who has what. PoolBook is compared
// with it, step by step.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "parcel/pool_book.hpp"

namespace aqua {

class NaivePool {
 public:
  NaivePool(std::uint32_t blocks, std::uint32_t block_tokens)
      : blocks_(blocks), block_tokens_(block_tokens) {}

  std::optional<Code> join(std::uint64_t member, const std::string& role, std::uint32_t quota) {
    if (quota > blocks_) return Code::invalid_argument;
    if (quota != 0 && quotas_.size() >= PoolBook::kMostQuotas && !quotas_.contains(role)) {
      return Code::resource_exhausted;
    }
    if (roles_.contains(member)) return Code::already_exists;
    roles_[member] = role;
    if (quota != 0 && !quotas_.contains(role)) quotas_[role] = quota;
    return {};
  }
  std::optional<Code> move_quota(const std::string& from, const std::string& to,
                                 std::uint32_t blocks) {
    if (blocks == 0 || from == to) return Code::invalid_argument;
    if (!quotas_.contains(from) || !quotas_.contains(to)) return Code::not_found;
    if (quotas_[from] <= blocks) return Code::resource_exhausted;
    quotas_[from] -= blocks;
    quotas_[to] += blocks;
    return {};
  }
  // What counts for a role, block by block.
  [[nodiscard]] std::uint32_t had_by_role(const std::string& role) const {
    const auto is_of = [&](std::uint64_t member) {
      const auto found = roles_.find(member);
      return found != roles_.end() && found->second == role;
    };
    std::set<std::pair<std::uint32_t, std::uint64_t>> had;  // shared ones once for each member
    for (const Hold& hold : holds_) {
      if (hold.kind == 'm') {
        if (is_of(hold.number)) had.insert({hold.block, hold.number});
        continue;
      }
      const Known& known = parcels_.at(hold.number);
      const std::uint64_t by = known.taker != 0 ? known.taker : known.giver;
      if (hold.alone && is_of(by)) had.insert({hold.block, by});
    }
    return static_cast<std::uint32_t>(had.size());
  }
  std::optional<Code> grant(std::uint64_t member, std::uint32_t most, Blocks& granted) {
    if (!present(member)) return Code::not_found;
    const std::string& role = roles_.at(member);
    for (std::uint32_t b = 0; b < blocks_ && granted.size() < most; ++b) {
      if (quotas_.contains(role) && had_by_role(role) >= quotas_[role]) break;
      if (holders(b) != 0 || quarantined_.contains(b)) continue;
      holds_.push_back({b, 'm', member, true});
      granted.push_back(b);
    }
    return {};
  }
  std::optional<Code> give_back(std::uint64_t member, const Blocks& blocks) {
    if (!present(member)) return Code::not_found;
    if (!list_is_good(blocks)) return Code::invalid_argument;
    for (const std::uint32_t b : blocks) {
      if (find(b, 'm', member) != nullptr) continue;
      return in_taken(member, b) ? Code::failed_precondition : Code::invalid_argument;
    }
    for (const std::uint32_t b : blocks) {
      drop_one(b, 'm', member);
      fall(b, true);
    }
    return {};
  }
  std::optional<Code> share(std::uint64_t member, const Blocks& blocks) {
    if (!present(member)) return Code::not_found;
    if (!list_is_good(blocks)) return Code::invalid_argument;
    for (const std::uint32_t b : blocks) {
      if (find(b, 'm', member) == nullptr && !in_taken(member, b)) return Code::invalid_argument;
    }
    for (const std::uint32_t b : blocks) {
      Hold* const own = find(b, 'm', member);
      const bool was_alone = own != nullptr && own->alone;
      for (Hold& hold : holds_) {
        if (hold.block == b) hold.alone = false;
      }
      if (!was_alone) holds_.push_back({b, 'm', member, false});
    }
    return {};
  }
  std::optional<Code> offer(std::uint64_t member, const std::string& role, const Parcel& parcel,
                            std::uint64_t number) {
    if (!present(member)) return Code::not_found;
    if (!list_is_good(parcel.blocks)) return Code::invalid_argument;
    const auto highest = highest_.find(parcel.id);
    if (highest != highest_.end() && highest->second >= parcel.turn) return Code::aborted;
    std::uint64_t carried = 0;
    for (const auto& [n, known] : parcels_) {
      if (known.parcel.id != parcel.id || known.taker != member) continue;
      if (known.superseded) return Code::aborted;
      carried = n;
    }
    for (const std::uint32_t b : parcel.blocks) {
      if (find(b, 'm', member) == nullptr && (carried == 0 || find(b, 'p', carried) == nullptr)) {
        return Code::invalid_argument;
      }
    }
    for (const std::uint32_t b : parcel.blocks) {
      Hold* own = find(b, 'm', member);
      if (own == nullptr || !own->alone) own = carried == 0 ? nullptr : find(b, 'p', carried);
      Hold* const any = find(b, 'm', member);
      if (any != nullptr && any->alone) {
        *any = {b, 'p', number, true};
      } else if (own != nullptr && own->alone) {
        *own = {b, 'p', number, true};
      } else {
        holds_.push_back({b, 'p', number, false});
      }
    }
    if (carried != 0) remove(carried);
    std::vector<std::uint64_t> others;
    for (const auto& [n, known] : parcels_) {
      if (known.parcel.id == parcel.id && !known.superseded) others.push_back(n);
    }
    for (const std::uint64_t n : others) {
      if (parcels_[n].taker == 0) {
        remove(n);
      } else {
        parcels_[n].superseded = true;
        parcels_[n].giver = 0;
      }
    }
    highest_[parcel.id] = parcel.turn;
    parcels_[number] = {parcel, role, member};
    parcels_[number].parcel.number = number;
    parcels_[number].parcel.from = roles_[member];
    parcels_[number].parcel.given = parcel.turn;
    return {};
  }
  std::optional<Code> accept(std::uint64_t member, std::vector<Parcel>& taken) {
    if (!present(member)) return Code::not_found;
    for (auto& [n, known] : parcels_) {
      if (known.taker != 0 || known.role != roles_[member]) continue;
      known.taker = member;
      known.parcel.turn = ++highest_[known.parcel.id];
      taken.push_back(known.parcel);
      for (const std::uint32_t b : known.parcel.blocks) {
        if (doubt_.contains(b)) taken.back().tail_in_doubt = true;
      }
      break;
    }
    return {};
  }
  std::optional<Code> finish(std::uint64_t member, std::uint64_t number) {
    if (!present(member)) return Code::not_found;
    const auto found = parcels_.find(number);
    if (found == parcels_.end() || found->second.taker != member) return Code::not_found;
    remove(number);
    return {};
  }
  std::optional<Code> cancel(const std::string& id) {
    bool is_taken = false;
    for (const auto& [n, known] : parcels_) {
      if (known.parcel.id != id) continue;
      if (known.taker != 0) {
        is_taken |= !known.superseded;  // which waits no more
        continue;
      }
      remove(n);
      return {};
    }
    return is_taken ? Code::failed_precondition : Code::not_found;
  }
  void gone(std::uint64_t member) {
    if (roles_.contains(member)) gone_.insert(member);
  }
  void end(std::uint64_t member, bool is_quiet) {
    for (const auto& [n, known] : parcels_) {
      if (known.taker != member || is_quiet) continue;
      const Blocks& in = known.parcel.blocks;
      for (std::size_t i = known.parcel.tokens / block_tokens_; i < in.size(); ++i) {
        doubt_.insert(in[i]);
      }
    }
    std::vector<std::uint64_t> old;
    for (auto& [n, known] : parcels_) {
      if (known.giver == member) known.giver = 0;
      if (known.taker != member) continue;
      known.taker = 0;
      if (known.superseded) old.push_back(n);
    }
    for (const std::uint64_t n : old) remove(n);
    Blocks had;
    for (const Hold& h : holds_) {
      if (h.kind == 'm' && h.number == member) had.push_back(h.block);
    }
    std::erase_if(holds_, [&](const Hold& h) { return h.kind == 'm' && h.number == member; });
    for (const std::uint32_t b : had) fall(b, is_quiet);
    roles_.erase(member);
    gone_.erase(member);
  }
  std::uint32_t release_quarantined() {
    const auto released = static_cast<std::uint32_t>(quarantined_.size());
    quarantined_.clear();
    doubt_.clear();
    return released;
  }

  [[nodiscard]] PoolCounts counts() const {
    PoolCounts counts;
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      const auto hold =
          std::find_if(holds_.begin(), holds_.end(), [&](const Hold& h) { return h.block == b; });
      if (hold == holds_.end()) {
        ++(quarantined_.contains(b) ? counts.quarantined : counts.free);
        continue;
      }
      if (!hold->alone) {
        ++counts.shared;
        continue;
      }
      const std::uint64_t member =
          hold->kind == 'm' ? hold->number : parcels_.at(hold->number).taker;
      ++(member == 0 ? counts.offered : gone_.contains(member) ? counts.orphaned : counts.owned);
    }
    return counts;
  }
  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(std::count_if(
        parcels_.begin(), parcels_.end(), [](const auto& p) { return p.second.taker == 0; }));
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> all;
    for (const auto& [n, known] : parcels_) all.push_back(n);
    return all;
  }
  // 0: the id is not known.
  [[nodiscard]] std::uint64_t highest(const std::string& id) const {
    const auto found = highest_.find(id);
    return found == highest_.end() ? 0 : found->second;
  }
  // How often blocks are had, in all: what bounds a search.
  [[nodiscard]] std::size_t holds() const { return holds_.size(); }
  // Alike for states that differ in the numbers of their parcels and in turns alone.
  [[nodiscard]] std::string text() const {
    std::map<std::uint64_t, std::size_t> order;
    for (const auto& [n, known] : parcels_) order.emplace(n, order.size());
    std::multiset<std::string> lines;
    for (const Hold& hold : holds_) {
      std::ostringstream line;
      line << hold.block << hold.kind << (hold.kind == 'p' ? order.at(hold.number) : hold.number)
           << hold.alone;
      lines.insert(line.str());
    }
    std::ostringstream all;
    for (const auto& [m, role] : roles_) all << m << role << gone_.contains(m) << ' ';
    for (const auto& [n, known] : parcels_) {
      all << '|' << known.parcel.id << known.role << known.giver << known.taker << known.superseded;
      for (const std::uint32_t b : known.parcel.blocks) all << ',' << b;
    }
    for (const std::string& line : lines) all << '/' << line;
    for (const std::uint32_t b : quarantined_) all << 'q' << b;
    for (const std::uint32_t b : doubt_) all << '?' << b;
    for (const auto& [role, blocks] : quotas_) all << role << '=' << blocks;
    return all.str();
  }

 private:
  struct Hold {
    std::uint32_t block = 0;
    char kind = 'm';  // a member's, or 'p': a parcel's
    std::uint64_t number = 0;
    bool alone = true;
  };
  struct Known {
    Parcel parcel{};
    std::string role{};
    std::uint64_t giver = 0;
    std::uint64_t taker = 0;
    bool superseded = false;
  };

  [[nodiscard]] bool present(std::uint64_t member) const {
    return roles_.contains(member) && !gone_.contains(member);
  }
  [[nodiscard]] bool list_is_good(const Blocks& blocks) const {
    const std::set<std::uint32_t> once(blocks.begin(), blocks.end());
    return once.size() == blocks.size() && (once.empty() || *once.rbegin() < blocks_);
  }
  [[nodiscard]] std::ptrdiff_t holders(std::uint32_t block) const {
    return std::count_if(holds_.begin(), holds_.end(),
                         [&](const Hold& h) { return h.block == block; });
  }
  [[nodiscard]] Hold* find(std::uint32_t block, char kind, std::uint64_t number) {
    const auto found = std::find_if(holds_.begin(), holds_.end(), [&](const Hold& h) {
      return h.block == block && h.kind == kind && h.number == number;
    });
    return found == holds_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool in_taken(std::uint64_t member, std::uint32_t block) {
    return std::any_of(parcels_.begin(), parcels_.end(), [&](const auto& p) {
      return p.second.taker == member && find(block, 'p', p.first) != nullptr;
    });
  }
  void drop_one(std::uint32_t block, char kind, std::uint64_t number) {
    Hold* const hold = find(block, kind, number);
    if (hold != nullptr) holds_.erase(holds_.begin() + (hold - holds_.data()));
  }
  // Where nobody has it any more, it is quarantined if work may still write it.
  void fall(std::uint32_t b, bool is_quiet) {
    if (holders(b) != 0) return;
    if (doubt_.erase(b) != 0 || !is_quiet) quarantined_.insert(b);
  }
  void remove(std::uint64_t number) {
    const Blocks had = parcels_.at(number).parcel.blocks;
    std::erase_if(holds_, [&](const Hold& h) { return h.kind == 'p' && h.number == number; });
    parcels_.erase(number);
    for (const std::uint32_t b : had) fall(b, true);
  }

  std::uint32_t blocks_, block_tokens_;
  std::map<std::uint64_t, std::string> roles_;
  std::set<std::uint64_t> gone_;
  std::vector<Hold> holds_;
  std::map<std::uint64_t, Known> parcels_;
  std::map<std::string, std::uint64_t> highest_;  // turns, by id
  std::set<std::uint32_t> quarantined_, doubt_;
  std::map<std::string, std::uint32_t> quotas_;
};

}  // namespace aqua
