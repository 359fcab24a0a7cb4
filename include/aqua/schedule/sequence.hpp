// SPDX-License-Identifier: Apache-2.0
// A sequence as schedulers see it: one request, its tokens, and where its KV blocks are.
//
//   arrive            page-in done                                commit
//     │  ┌───────────◄───────────── paging_in ◄──┐          next token(s), again
//     ▼  ▼                                       │
//   waiting ──(first chunk committed)──► resident ──► paging_out ──► swapped
//     ▲ ▲                                   │     swap             │  │
//     │ └──────── recompute ────────────────┘                      │  └─► paging_in ─► resident
//     └──────────────── lost ──────────────────────────────────────┘
//
// Tokens: a sequence knows prompt + generated tokens; `computed` of them have their KV. The rest
// is pending. One pending token after the first was generated is a decode; all else is prefill,
// also what is computed again after a loss. The chunk that computes the last pending token
// generates the next one.
//
// Units: tokens; blocks of SchedulerOptions::block_tokens tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "aqua/types.hpp"

namespace aqua::schedule {

enum class SequenceId : std::uint64_t {};  // the caller's own numbers
enum class TenantId : std::uint64_t {};    // whom vtc is fair between

inline constexpr double kLeastWeight = 1e-6, kGreatestWeight = 1e6;

struct Request {
  SequenceId id{};
  std::uint32_t prompt_tokens = 0;  // at least 1
  // The most it may generate, or 0 when nobody knows. A request that could not fit into the
  // device alone is refused, if this is known; otherwise it is when it has grown too far. An answer
  // that goes on beyond it is served on, with memory promised for one token at a time.
  std::uint32_t max_new_tokens = 0;
  // So many leading tokens are in a prefix cache, at `cached_in`: the sequence starts as if
  // swapped there and its first page-in fetches them. Below prompt_tokens: at least one token
  // is computed, as the first answer needs its logits.
  std::uint32_t cached_tokens = 0;
  Tier cached_in = Tier::peer;
  TenantId tenant{};
  // Share of service beside others, by cfs, auto (the pace of an answer) and (per tenant) vtc: from
  // kLeastWeight to kGreatestWeight. 2 gets twice as much as 1.
  double weight = 1;
};

enum class SequenceState : std::uint8_t {
  waiting,     // holds no KV anywhere
  resident,    // KV on the device; the only state that is computed
  paging_out,  // ordered out: blocks are still held on the device and in the swap space
  swapped,     // KV in the swap space, or in a prefix cache before its first page-in
  paging_in,   // ordered in: blocks are held on the device and in the swap space
};

[[nodiscard]] constexpr std::string_view to_string(SequenceState state) noexcept {
  switch (state) {
    case SequenceState::waiting:
      return "waiting";
    case SequenceState::resident:
      return "resident";
    case SequenceState::paging_out:
      return "paging_out";
    case SequenceState::swapped:
      return "swapped";
    case SequenceState::paging_in:
      return "paging_in";
  }
  return "waiting";
}

struct SequenceStatus {
  SequenceState state = SequenceState::waiting;
  Tier tier = Tier::local;  // of the KV; local while resident or on the way
  std::uint32_t prompt_tokens = 0;
  std::uint32_t computed_tokens = 0;
  std::uint32_t generated_tokens = 0;
  std::uint32_t device_blocks = 0;  // held
  std::uint32_t swap_blocks = 0;    // held
  // Virtual: what the policy orders by, in its own unit (docs/engine/scheduling.md).
  double service = 0;
  friend bool operator==(const SequenceStatus&, const SequenceStatus&) = default;
};

}  // namespace aqua::schedule
