// SPDX-License-Identifier: Apache-2.0
// What a scheduler answers for the next iteration: what to compute, and who goes out and in.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/schedule/sequence.hpp"

namespace aqua::schedule {

// Compute `tokens` tokens of the sequence from its token number `first` on (0 is the first of the
// prompt). Attention reads everything before them.
struct PrefillChunk {
  SequenceId id{};
  std::uint32_t first = 0;
  std::uint32_t tokens = 0;
  bool last = false;  // nothing is pending after it: the iteration also generates a token
  friend bool operator==(const PrefillChunk&, const PrefillChunk&) = default;
};

struct Preemption {
  SequenceId id{};
  // swap: copy `blocks` blocks out, then say paged_out(). recompute: just forget them; the
  // blocks are free at once and the sequence waits again.
  enum class How : std::uint8_t { swap, recompute } how = How::swap;
  std::uint32_t blocks = 0;
  // swap: where it should go, from where it comes back soonest. An engine that has no room there
  // may choose another tier; paged_out() tells.
  Tier to = Tier::local;
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

// Copy `blocks` blocks in, then say paged_in(). They are granted: the scheduler counts them as
// taken from now on.
struct PageIn {
  SequenceId id{};
  Tier from = Tier::peer;  // as last told
  std::uint32_t blocks = 0;
  friend bool operator==(const PageIn&, const PageIn&) = default;
};

// Orders (preemptions, page_ins) hold from the moment next() returned them and appear once; do
// preemptions first. Computation (prefills, decodes) is a proposal for sequences that are resident
// now, accepted with commit(). At most budget_tokens tokens in all; no sequence appears twice, be
// it ordered or computed. A batch that computes nothing and whose orders begin no copy is followed
// by another at once: call next() again.
struct Batch {
  std::vector<Preemption> preemptions{};
  std::vector<PageIn> page_ins{};
  std::vector<PrefillChunk> prefills{};
  std::vector<SequenceId> decodes{};  // one token each
  // Alone they need more blocks than the device has: they are computed no further, and the caller
  // ends them (or the device grows again). Named every time.
  std::vector<SequenceId> too_large{};
  // So many iterations in a row would get these same prefills and decodes (at least 1), provided
  // that nothing is said to the scheduler in between: commit(k) for any k up to here is the same
  // as k times next() and commit(). For whoever wants to skip ahead. 1 where there is a prefill.
  std::uint32_t repeat = 1;

  [[nodiscard]] bool computes() const noexcept { return !prefills.empty() || !decodes.empty(); }
  [[nodiscard]] bool moves() const noexcept { return !preemptions.empty() || !page_ins.empty(); }
  [[nodiscard]] std::uint32_t tokens() const noexcept {
    auto sum = static_cast<std::uint32_t>(decodes.size());
    for (const PrefillChunk& chunk : prefills) sum += chunk.tokens;
    return sum;
  }
  friend bool operator==(const Batch&, const Batch&) = default;
};

}  // namespace aqua::schedule
