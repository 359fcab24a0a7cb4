// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/reuse_table.hpp"

#include <algorithm>
#include <iterator>

// Invariants: each remembered block is in entries_, in by_hash_ and in one cohort; there_[kind][b]
// counts those of that kind, last seen before this prompt, whose age is in bin b; rate_[kind] never
// rises with age.
namespace aqua::prefix {
namespace {

constexpr std::uint64_t learn_every = 64;                       // prompts
constexpr std::uint64_t halve_every = std::uint64_t{1} << 14U;  // prompts; some hours of a service

}  // namespace

ReuseTable::ReuseTable(std::size_t blocks) : limit_(blocks), cohorts_(1) {
  learn();
}

std::size_t ReuseTable::bin(std::uint64_t age) {
  const auto* const above = std::upper_bound(from.begin() + 1, from.end(), age);
  return std::min(bins, static_cast<std::size_t>(above - from.begin())) - 1;
}

void ReuseTable::begin_prompt() {
  now_ += 1;
  cohorts_.emplace_back();
  while (!entries_.empty() && now_ - entries_.back().last >= from[bins]) {
    forget(std::prev(entries_.end()));
  }
  const std::uint64_t oldest = entries_.empty() ? now_ : entries_.back().last;
  for (; first_ < oldest; ++first_) cohorts_.pop_front();
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (std::size_t b = 0; b < bins && now_ - first_ >= from[b]; ++b) {
      const std::uint32_t older = cohorts_[now_ - from[b] - first_][kind];
      there_[kind][b] += older;
      if (b > 0) there_[kind][b - 1] -= older;
    }
    for (std::size_t b = 0; b < bins; ++b) {
      exposed_[kind][b] += static_cast<double>(there_[kind][b]);
    }
  }
  if (now_ % halve_every == 0) {
    for (auto* counts : {&asked_, &exposed_}) {
      for (Row& row : *counts) {
        for (double& count : row) count /= 2;
      }
    }
  }
  if (now_ % learn_every == 0) learn();
}

void ReuseTable::seen(const BlockHash& block) {
  const auto found = by_hash_.find(block);
  if (found == by_hash_.end()) return remember(block, 0);
  const Entry entry = *found->second;
  if (entry.last == now_) return;  // it is twice in this prompt
  asked_[entry.kind][bin(now_ - entry.last)] += 1;
  forget(found->second);
  remember(block, static_cast<Kind>(std::min<std::size_t>(entry.kind + 1U, kinds - 1)));
}

void ReuseTable::entered(const BlockHash& block) {
  if (!by_hash_.contains(block)) remember(block, 0);
}

void ReuseTable::remember(const BlockHash& block, Kind kind) {
  entries_.push_front({block, now_, kind});
  by_hash_.emplace(block, entries_.begin());
  cohorts_[now_ - first_][kind] += 1;
  while (entries_.size() > limit_) forget(std::prev(entries_.end()));
}

void ReuseTable::forget(std::list<Entry>::iterator entry) {
  cohorts_[entry->last - first_][entry->kind] -= 1;
  if (now_ > entry->last) there_[entry->kind][bin(now_ - entry->last)] -= 1;
  by_hash_.erase(entry->block);
  entries_.erase(entry);
}

ReuseTable::Kind ReuseTable::kind_of(const BlockHash& block, Kind otherwise) const {
  const auto found = by_hash_.find(block);
  return found == by_hash_.end() ? otherwise : found->second->kind;
}

double ReuseTable::rate(Kind kind, std::uint64_t age) const {
  return rate_[kind][bin(std::max<std::uint64_t>(age, 1))];
}

// Computes the rates: pools neighbouring ages until no older one has a higher rate. An age at which
// no block was ever asked for gets half the rate of the age before it, so that the older goes
// first.
void ReuseTable::learn() {
  struct Pool {
    double asked = 0, exposed = 0;
    std::size_t bins = 0;
  };
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    std::array<Pool, bins> pools;
    std::size_t count = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      constexpr double nobody = 1e-9;  // keeps an age that no block has reached from dividing by 0
      pools[count++] = {asked_[kind][b], exposed_[kind][b] + nobody, 1};
      for (; count > 1; --count) {
        Pool& younger = pools[count - 2];
        const Pool& older = pools[count - 1];
        if (younger.asked * older.exposed >= older.asked * younger.exposed) break;
        younger = {younger.asked + older.asked, younger.exposed + older.exposed,
                   younger.bins + older.bins};
      }
    }
    double before = 1;
    std::size_t b = 0;
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t i = 0; i < pools[p].bins; ++i, ++b) {
        before = rate_[kind][b] =
            pools[p].asked > 0 ? pools[p].asked / pools[p].exposed : before / 2;
      }
    }
  }
}

}  // namespace aqua::prefix
