// SPDX-License-Identifier: Apache-2.0
// SchedulerBase is what all policies have in common. It checks calls, keeps the table of sequences,
// and turns a plan into a batch and a commit into tokens. A policy overrides plan(), and the hooks
// if it keeps queues of its own.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aqua/schedule/scheduler.hpp"
#include "systems/schedule/decide/sequence_table.hpp"

namespace aqua::schedule {

class SchedulerBase : public Scheduler {
 public:
  explicit SchedulerBase(const SchedulerOptions& options)
      : options_(options), table_(options.block_tokens) {}

  [[nodiscard]] Result<void> arrive(const Request& request) final;
  [[nodiscard]] Result<void> finish(SequenceId id) final;
  [[nodiscard]] Result<void> depart(SequenceId id) final;
  [[nodiscard]] Result<void> hold(SequenceId id) final;
  [[nodiscard]] Result<void> release(SequenceId id) final;
  [[nodiscard]] Result<void> paged_out(SequenceId id, Tier to) final;
  [[nodiscard]] Result<void> paged_in(SequenceId id) final;
  [[nodiscard]] Result<void> copy_failed(SequenceId id) final;
  [[nodiscard]] Result<void> moved(SequenceId id, Tier to) final;
  [[nodiscard]] Result<void> lost(SequenceId id) final;
  void set_device_blocks(std::uint32_t blocks) final;
  void set_swap_blocks(std::uint32_t blocks) final;
  void set_swap_tier(Tier tier) final;
  [[nodiscard]] Result<void> set_time(double seconds) final;
  [[nodiscard]] Result<void> set_seconds_per_block(Tier tier, double seconds) final;
  [[nodiscard]] const Batch& next() final;
  [[nodiscard]] Result<void> commit(std::uint32_t iterations) final;
  [[nodiscard]] Result<SequenceStatus> sequence(SequenceId id) const final;
  [[nodiscard]] SchedulerStatus status() const noexcept final;

 protected:
  // --- what a policy overrides -----------------------------------------------------------------
  // Fills the batch: add_decode(), add_prefill(), order_out(), order_in(), set_repeat().
  virtual void plan() = 0;
  [[nodiscard]] virtual double service_of(Slot slot) const = 0;
  // How far that is ahead of the least (SequenceStatus::lead). 0: the policy carries nothing along.
  [[nodiscard]] virtual double lead_of(Slot) const { return 0; }
  [[nodiscard]] virtual bool falling_back() const noexcept { return false; }
  // Where the next page-out should go; asked once for each.
  [[nodiscard]] virtual Tier tier_out() noexcept { return options_.swap_tier; }
  // Fills in what only this policy has.
  virtual void describe(SchedulerStatus& /*status*/) const noexcept {}
  // Whether plan() asks for time().
  [[nodiscard]] virtual bool heeds_time() const noexcept { return false; }
  // The sequence is outside from now on, waiting or swapped: it arrived, left the device, or lost
  // its KV. One that arrives with its KV on the device is outside for a moment.
  virtual void on_outside(Slot) {}
  // The sequence is outside again as it was: its page-in failed.
  virtual void on_outside_again(Slot slot) { on_outside(slot); }
  // The sequence is about to change its state or to end. Drop it from queues kept by state.
  virtual void on_leave(Slot) {}
  // The sequence is about to be paged in.
  virtual void on_paging_in(Slot slot) { on_leave(slot); }
  // The sequence is resident without having been computed: it was paged in, its page-out failed, it
  // brought its KV with it, or its hold is over.
  virtual void on_resident(Slot) {}
  // `iterations` iterations computed `tokens` tokens of it and generated `generated`.
  virtual void on_computed(Slot, std::uint32_t /*tokens*/, std::uint32_t /*generated*/,
                           std::uint32_t /*iterations*/) {}
  virtual void on_committed(std::uint32_t /*iterations*/) {}
  virtual void on_capacity() {}
  virtual void on_costs(Tier /*told*/) {}
  // The sequence is about to end here and nowhere else.
  virtual void on_answered(Slot) {}
  // The sequence has ended, or goes on elsewhere. Comes after on_leave().
  virtual void on_finished(Slot) {}

  // --- what plan() may use -----------------------------------------------------------------------
  void add_decode(Slot slot);
  void add_prefill(Slot slot, std::uint32_t tokens);
  // Preempts this resident: its KV is copied out, or dropped to be computed again.
  void order_out(Slot slot, Preemption::How how);
  void order_in(Slot slot);
  void set_repeat(std::uint32_t repeat) noexcept { batch_.repeat = repeat; }
  // How the options want this resident preempted, and how it would be: by recomputation also where
  // the swap space has no room for it.
  [[nodiscard]] Preemption::How how_wanted(Slot slot) const noexcept;
  [[nodiscard]] Preemption::How how_out(Slot slot) const noexcept;
  // The blocks that the swap space may hold: its capacity, or what it held when a page-out failed.
  [[nodiscard]] std::uint32_t swap_limit() const noexcept {
    return full_for_ > 0 ? std::min(full_at_, options_.swap_blocks) : options_.swap_blocks;
  }
  // True when the sequence no longer fits the device, and is set aside.
  [[nodiscard]] bool set_aside_if_stuck(Slot slot);
  [[nodiscard]] std::uint32_t blocks_after(const Sequence& s, std::uint64_t tokens) const noexcept {
    return table_.blocks_for(s.computed + tokens);
  }
  // Negative when the device was shrunk below what is held.
  [[nodiscard]] std::int64_t free_blocks() const noexcept {
    return std::int64_t{options_.device_blocks} - table_.device_held();
  }
  [[nodiscard]] std::uint32_t max_sequences() const noexcept {
    return options_.max_sequences > 0 ? options_.max_sequences : options_.budget_tokens;
  }
  [[nodiscard]] std::span<const Slot> decode_slots() const noexcept { return decode_slots_; }
  [[nodiscard]] std::span<const Slot> prefill_slots() const noexcept { return prefill_slots_; }
  [[nodiscard]] const Batch& batch() const noexcept { return batch_; }
  [[nodiscard]] std::optional<double> time() const noexcept { return time_; }  // as last told

  SchedulerOptions options_;
  SequenceTable table_;

 private:
  [[nodiscard]] Result<Slot> slot_of(SequenceId id, const char* call) const;
  [[nodiscard]] Result<void> check(const Request& request) const;
  void remove(Slot slot);
  void begin_hold(Slot slot);
  void begin_holds();
  void commit_one(Slot slot, std::uint32_t tokens, std::uint32_t generated, std::uint32_t times);
  void evict_stuck();
  void stale() noexcept { stale_ = true; }

  Batch batch_;
  std::vector<Slot> decode_slots_, prefill_slots_;  // of the batch's entries
  std::vector<Slot> to_hold_;                       // may name some that have left since
  std::uint64_t plans_ = 0;
  std::uint32_t full_at_ = 0;   // blocks that the swap space held when a page-out failed …
  std::uint32_t full_for_ = 0;  // … and for how many iterations no more are sent there
  std::optional<double> time_;
  bool planned_ = false;  // a batch can be committed
  bool stale_ = true;     // a call has changed something since the plan
};

}  // namespace aqua::schedule
