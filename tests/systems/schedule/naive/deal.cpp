// SPDX-License-Identifier: Apache-2.0
// Who gets a place in a slice.
#include <tuple>

#include "tests/systems/schedule/naive/slice.hpp"

namespace aqua::schedule::test {

// Blocks for all that it may compute in the rest of the slice.
std::uint32_t NaiveSlice::wanted(const NaiveSequence& s, std::uint64_t prefill_tokens) const {
  std::uint64_t tokens = 0;
  std::uint64_t answer = rest();  // tokens it may generate and compute in the slice
  const std::uint32_t most = s.request.max_new_tokens;
  if (s.decodes()) {
    // All but the last of what it may still generate is computed, and the pending one.
    if (most > 0)
      answer = std::min<std::uint64_t>(answer, most > s.generated ? most - s.generated : 1);
    tokens = answer;
  } else {
    tokens = std::min<std::uint64_t>(s.pending(), prefill_tokens);
    if (tokens == s.pending()) {
      if (most > 0) {
        answer = std::min<std::uint64_t>(answer, most > s.generated ? most - s.generated - 1 : 0);
      }
      tokens += answer;
    }
  }
  return std::min(blocks_for(s.computed + std::max<std::uint64_t>(tokens, 1)),
                  options_.device_blocks);
}

// The tokens of a member's prompt that its promise lets it compute.
std::uint64_t NaiveSlice::planned_tokens(const NaiveSequence& s) const {
  const std::uint64_t room = std::uint64_t{s.promised} * options_.block_tokens;
  return room > s.computed ? std::min<std::uint64_t>(s.pending(), room - s.computed) : 0;
}

NaiveSlice::Line NaiveSlice::waiting_in(bool decodes, bool by_date) {
  Line line = select([&](const auto& s) { return waits(s) && s.decodes() == decodes; });
  std::sort(line.begin(), line.end(), [&](const auto* a, const auto* b) {
    if (by_date) return std::tuple(a->due, a->arrival) < std::tuple(b->due, b->arrival);
    return std::tuple(rank(*a), a->since, a->arrival) < std::tuple(rank(*b), b->since, b->arrival);
  });
  return line;
}

NaiveSequence* NaiveSlice::head(bool decodes, bool by_date) {
  for (NaiveSequence* s : waiting_in(decodes, by_date)) {
    if (s->ordered) continue;
    if (by_date && s->due > iterations_) return nullptr;  // nobody (more) is overdue
    if (!too_large(*s)) return s;
    larger_.push_back(s->request.id);
  }
  return nullptr;
}

bool NaiveSlice::offer(NaiveSequence& s, Left& left) {
  if (left.places == 0) return false;
  if (s.decodes() ? left.decodes == 0 : left.prefill_tokens == 0) return false;
  const std::uint32_t blocks = wanted(s, left.prefill_tokens);
  const std::int64_t more = std::int64_t{blocks} - (left.idle_stay ? s.device_blocks : 0);
  if (more > left.blocks) return false;
  left.blocks -= more;
  left.places -= 1;
  if (s.decodes()) {
    left.decodes -= 1;
  } else {
    left.prefill_tokens -= std::min<std::uint64_t>(s.pending(), left.prefill_tokens);
  }
  join(s, blocks);
  return true;
}

// Tokens of the slice that neither members' decodes nor their prompts take.
std::uint64_t NaiveSlice::prefill_left() {
  std::uint64_t decodes = 0, planned = 0;
  for (const NaiveSequence* s : members()) {
    s->decodes() ? decodes += 1 : planned += planned_tokens(*s);
  }
  const std::uint64_t budget = options_.budget_tokens;
  const std::uint64_t tokens = (budget - std::min(decodes, budget)) * rest();
  return tokens - std::min(tokens, planned);
}

void NaiveSlice::deal(bool idle_stay) {
  open_ = false;
  larger_.clear();
  Left left{.blocks = options_.device_blocks, .idle_stay = idle_stay};
  std::size_t decodes = 0;
  std::uint64_t planned = 0;
  for (const auto& [arrival, s] : all_) {
    if (s.member) {
      left.blocks -= s.promised;
      s.decodes() ? decodes += 1 : planned += planned_tokens(s);
    } else if (s.state == SequenceState::resident && (s.stuck || s.held || idle_stay)) {
      left.blocks -= s.device_blocks;
    }
  }
  const std::size_t members_now = members().size();
  left.places = most_sequences() - std::min<std::size_t>(most_sequences(), members_now);
  const std::size_t share = options_.budget_tokens - options_.min_prefill_tokens;
  const bool any_prefill = !waiting_in(false, false).empty() || planned > 0;
  const std::size_t most = any_prefill ? share : options_.budget_tokens;
  left.decodes = most - std::min(most, decodes);
  // d as if there were no prefill: as many decodes as memory would hold.
  std::size_t fit = 0;
  std::int64_t room = left.blocks;
  for (const NaiveSequence* s : waiting_in(true, false)) {
    room -= wanted(*s, 0);
    if (room < 0 || fit == share) break;
    fit += 1;
  }
  const std::uint64_t p = (options_.budget_tokens - std::min(most, decodes + fit)) * rest();
  left.prefill_tokens = p - std::min(p, planned);
  cfs_ ? deal_cfs(left) : deal_las(left);
  for (const SequenceId id : larger_) {
    for (auto& [arrival, s] : all_) {
      if (s.request.id == id && !s.stuck) set_aside(s);
    }
  }
}

void NaiveSlice::deal_las(Left& left) {
  const auto all_of = [&](bool decodes) {
    for (NaiveSequence* s = head(decodes, false); s != nullptr && offer(*s, left);) {
      s = head(decodes, false);
    }
  };
  all_of(false);
  all_of(true);
  left.prefill_tokens = prefill_left();
  all_of(false);
}

void NaiveSlice::deal_cfs(Left& left) {
  const bool decodes_first = slices_ % 2 == 1;
  for (int time = 0; time < 2; ++time) {
    bool open[4] = {true, true, true, true};
    while (open[0] || open[1] || open[2] || open[3]) {
      for (std::size_t place = 0; place < 4; ++place) {
        const bool by_date = place < 2;
        const bool decodes = (place % 2 == 1) != decodes_first;
        if (!open[place]) continue;
        NaiveSequence* s = head(decodes, by_date);
        open[place] = s != nullptr && offer(*s, left);
      }
    }
    if (time == 0) left.prefill_tokens = prefill_left();
  }
}

}  // namespace aqua::schedule::test
