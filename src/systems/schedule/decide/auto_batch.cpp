// SPDX-License-Identifier: Apache-2.0
// AutoScheduler: what those inside compute in the next iteration.
#include <algorithm>

#include "systems/schedule/decide/auto_scheduler.hpp"

namespace aqua::schedule {
namespace {

// The share of the time between two tokens that an iteration with a prompt may take.
constexpr double kLongest = 0.9;

}  // namespace

// Decodes first, one token each, but for the share of prompts; then prompts: those inside by
// arrival, so that who has begun comes to its end, then those let in by this plan.
void AutoScheduler::fill_batch() {
  decodes_.clear();
  chunks_.clear();
  for (const auto& [arrival, slot] : table_.residents()) {  // who was sent out is none any more
    (prefills(slot) ? chunks_ : decodes_).push_back(slot);
  }
  chunks_.insert(chunks_.end(), fresh_.begin(), fresh_.end());
  const std::uint32_t budget = options_.budget_tokens;
  const std::uint32_t share = chunks_.empty() ? 0 : options_.min_prefill_tokens;
  const std::size_t places = max_sequences() - (chunks_.empty() || max_sequences() == 1 ? 0 : 1);
  std::int64_t free = free_blocks();
  const std::size_t count = decodes_.size();
  add_decodes(std::min<std::size_t>(places, budget - share), free);
  add_chunks(free);
  const bool all = chunks_.empty() && count == decode_slots().size();
  unchanging_ = all && count > 0 && !table_.copies_under_way() && table_.outside().empty();
  set_repeat(unchanging_ ? iterations_without_change() : 1);
}

// By arrival where all can; where places or blocks are short, who waits longest first.
void AutoScheduler::add_decodes(std::size_t most, std::int64_t& free) {
  std::int64_t needs = 0;
  for (const Slot slot : decodes_) {
    needs += std::int64_t{blocks_after(table_.at(slot), 1)} - table_.at(slot).device_blocks;
  }
  const auto waits = [&](Slot slot) {
    return std::pair(shares_[slot].since, table_.at(slot).arrival);
  };
  if (decodes_.size() > most || needs > free) std::ranges::sort(decodes_, {}, waits);
  for (const Slot slot : decodes_) {
    if (decode_slots().size() == most) return;
    const Sequence& s = table_.at(slot);
    const std::int64_t need = std::int64_t{blocks_after(s, 1)} - s.device_blocks;
    if (need > free) continue;
    free -= need;
    add_decode(slot);
  }
}

// Leaves prompts as many tokens as let answers keep their pace, where answers alone take little of
// it; where they take much, as many as take no longer than they do; and their share at least.
std::uint64_t AutoScheduler::prompt_tokens_beside(std::size_t decodes) const {
  const std::uint64_t left = options_.budget_tokens - decodes;
  const double decoding = decoding_s_.value(), each = prompt_token_s_.value();
  const double longest = std::max(kLongest * options_.seconds_per_token - decoding, decoding);
  if (decodes == 0 || decoding == 0 || longest >= each * static_cast<double>(left)) return left;
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(longest / each),
                                 options_.min_prefill_tokens);
}

void AutoScheduler::add_chunks(std::int64_t free) {
  std::uint64_t left = prompt_tokens_beside(decode_slots().size());
  std::size_t places = max_sequences() - decode_slots().size();
  for (const Slot slot : chunks_) {
    if (left == 0 || places == 0) return;
    const Sequence& s = table_.at(slot);
    const std::uint64_t blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(free, 0));
    const std::uint64_t room = (blocks + s.device_blocks) * options_.block_tokens - s.computed;
    const std::uint64_t chunk = std::min<std::uint64_t>({left, s.pending(), room});
    if (chunk == 0) continue;
    free -= std::int64_t{blocks_after(s, chunk)} - s.device_blocks;
    add_prefill(slot, static_cast<std::uint32_t>(chunk));
    left -= chunk;
    places -= 1;
  }
}

// How many iterations the same batch holds for, where nothing changes it but that they want more
// blocks than there are.
std::uint32_t AutoScheduler::iterations_without_change() const {
  const std::size_t count = decode_slots().size();
  std::int64_t slack = INT64_MAX;  // tokens until one wants the first of the free blocks
  std::uint64_t longest = UINT32_MAX;
  const std::uint64_t most = std::uint64_t{options_.device_blocks} * options_.block_tokens;
  for (const Slot slot : decode_slots()) {
    const Sequence& s = table_.at(slot);
    slack = std::min(slack, std::int64_t{s.device_blocks} * options_.block_tokens - s.computed);
    longest = std::min(longest, most - s.known() + 1);
  }
  if (!backlog_.empty()) {  // which is paced again once it has been calm for a slice
    const std::uint64_t calm_for = contended_ ? 0 : iterations_ - calm_from_;
    const std::uint64_t slice = options_.slice_iterations;
    longest = std::min(longest, slice - std::min(slice - 1, calm_for));
  }
  const std::int64_t each =
      std::max<std::int64_t>(0, free_blocks()) / static_cast<std::int64_t>(count);
  const std::int64_t tokens = each * options_.block_tokens + slack - options_.slice_iterations;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(tokens, 1, static_cast<std::int64_t>(longest)));
}

}  // namespace aqua::schedule
