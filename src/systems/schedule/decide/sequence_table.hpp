// SPDX-License-Identifier: Apache-2.0
// SequenceTable holds every sequence's tokens, state and blocks, and the sums over them. It knows
// which state may follow which (aqua/schedule/sequence.hpp), and not who should be next.
//
// Threads: not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/schedule/sequence.hpp"

namespace aqua::schedule {

using Slot = std::uint32_t;
inline constexpr Slot no_slot = UINT32_MAX;

struct Sequence {
  SequenceId id{};
  TenantId tenant{};
  double weight = 1;
  double lead = 0;  // that it brought
  std::uint32_t prompt = 0;
  std::uint32_t max_new = 0;
  std::uint32_t computed = 0;
  std::uint32_t generated = 0;
  std::uint32_t device_blocks = 0;
  std::uint32_t swap_blocks = 0;
  std::uint64_t arrival = 0;  // its place in the order of arrivals
  std::uint64_t plan = 0;     // number of the last plan that computes it
  SequenceState state = SequenceState::waiting;
  Tier tier = Tier::local;
  bool stuck = false;    // larger than the device
  bool held = false;     // by hold() …
  bool to_hold = false;  // … or will be, once the batch that computes it is committed

  [[nodiscard]] std::uint32_t known() const noexcept { return prompt + generated; }
  [[nodiscard]] std::uint32_t pending() const noexcept { return known() - computed; }
  [[nodiscard]] bool decodes() const noexcept { return generated > 0 && pending() == 1; }
  // No policy looks at it.
  [[nodiscard]] bool aside() const noexcept { return stuck || held; }
};

class SequenceTable {
 public:
  using ByArrival = std::set<std::pair<std::uint64_t, Slot>>;

  explicit SequenceTable(std::uint32_t block_tokens) : block_tokens_(block_tokens) {}

  // --- sequences -----------------------------------------------------------------------------
  [[nodiscard]] Slot find(SequenceId id) const noexcept;  // no_slot when it is not known
  Slot add(const Request& request);
  void remove(Slot slot);
  [[nodiscard]] Sequence& at(Slot slot) noexcept { return sequences_[slot]; }
  [[nodiscard]] const Sequence& at(Slot slot) const noexcept { return sequences_[slot]; }
  [[nodiscard]] const ByArrival& residents() const noexcept { return residents_; }
  // The sequences that want in: waiting or swapped, and not set aside.
  [[nodiscard]] const ByArrival& outside() const noexcept { return outside_; }
  [[nodiscard]] const ByArrival& aside() const noexcept { return aside_; }
  [[nodiscard]] std::size_t size() const noexcept { return by_id_.size(); }  // sequences, in all

  // --- changes of state; the caller has checked that they may happen ----------------------------
  void begin_out(Slot slot);
  void end_out(Slot slot, Tier to);
  void abort_out(Slot slot);
  void begin_in(Slot slot);
  void end_in(Slot slot);
  void abort_in(Slot slot);
  void move_swapped(Slot slot, Tier to);
  void forget_kv(Slot slot);  // back to waiting, from anywhere
  void set_stuck(Slot slot, bool stuck);
  void set_held(Slot slot, bool held);
  // What was just added has its KV in blocks of the device.
  void begin_resident(Slot slot);
  // Counts `tokens` more as computed, with the blocks they need, and `generated` more as generated:
  // one for each iteration of a decode, and one at the end of a prefill.
  void compute(Slot slot, std::uint32_t tokens, std::uint32_t generated);

  // --- sums ----------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t blocks_for(std::uint64_t tokens) const noexcept {
    return static_cast<std::uint32_t>((tokens + block_tokens_ - 1) / block_tokens_);
  }
  [[nodiscard]] std::uint32_t block_tokens() const noexcept { return block_tokens_; }
  [[nodiscard]] std::uint32_t device_held() const noexcept { return device_held_; }
  [[nodiscard]] std::uint32_t leaving() const noexcept { return leaving_; }  // blocks paging out
  [[nodiscard]] std::uint32_t swap_held() const noexcept { return swap_held_; }
  [[nodiscard]] std::size_t count(SequenceState state) const noexcept {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::size_t swapped_on(Tier tier) const noexcept {
    return swapped_on_[static_cast<std::size_t>(tier)];
  }
  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] bool copies_under_way() const noexcept {
    return count(SequenceState::paging_out) + count(SequenceState::paging_in) > 0;
  }

 private:
  // Take a sequence out of all queues and sums before a change, and put it back after it.
  void unlist(Slot slot);
  void list(Slot slot);
  [[nodiscard]] ByArrival* queue_of(const Sequence& sequence) noexcept;

  const std::uint32_t block_tokens_;
  std::vector<Sequence> sequences_;
  std::vector<Slot> free_;
  std::unordered_map<std::uint64_t, Slot> by_id_;
  ByArrival residents_, outside_, aside_;
  std::uint64_t arrivals_ = 0;
  std::uint32_t device_held_ = 0, swap_held_ = 0, leaving_ = 0;
  std::size_t counts_[5] = {};
  std::size_t held_ = 0;
  std::size_t swapped_on_[3] = {};
};

}  // namespace aqua::schedule
