// SPDX-License-Identifier: Apache-2.0
// Second implementations of the policies, for the first ones to be held against: records in order
// of arrival, scanned and sorted anew for every decision. No queue is kept, no sum, no key: what
// docs/engine/scheduling.md says is worked out from the sequences as they are.
//
// This file: what all policies do alike, and fcfs. They believe their caller (Twin), whose calls
// the scheduler under test has checked already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule::test {

struct NaiveSequence {
  Request request{};
  std::uint64_t arrival = 0;
  std::uint32_t computed = 0, generated = 0;
  std::uint32_t device_blocks = 0, swap_blocks = 0;
  SequenceState state = SequenceState::waiting;
  Tier tier = Tier::local;
  bool stuck = false;    // set aside: larger than the device
  bool planned = false;  // the last plan computes it
  bool ordered = false;  // the last plan sends it out
  bool held = false, to_hold = false;
  // --- slices ---
  bool member = false, granted = false, dated = false;
  std::uint32_t promised = 0;
  double service = 0;
  std::uint64_t since = 0, due = 0;
  // --- auto; `since` and `due` as well ---
  double place = -1;  // -1: no plan was made since it came
  double paced_from = 0, pace = 0;
  double comes_from = -1;    // -1: it is not being paged in
  std::uint32_t tokens = 0;  // since paced_from
  std::uint64_t held_until = 0;
  bool answers = false, paced = false, hopeful = false;
  bool looked_at =
      false;  // by the plan being made: it is let in, or claims blocks, or does not fit
  // --- vtc ---
  bool charged = false;

  std::uint32_t known() const { return request.prompt_tokens + generated; }
  std::uint32_t pending() const { return known() - computed; }
  bool decodes() const { return generated > 0 && pending() == 1; }
  bool outside() const {
    return !stuck && !held && (state == SequenceState::waiting || state == SequenceState::swapped);
  }
  bool resident() const { return !stuck && !held && state == SequenceState::resident; }
};

class NaiveScheduler : public Scheduler {
 public:
  explicit NaiveScheduler(const SchedulerOptions& options) : options_(options) {
    options_.min_prefill_tokens = std::min(options.min_prefill_tokens, options.budget_tokens / 2);
  }
  std::string_view name() const noexcept override { return "naive fcfs"; }
  Result<void> arrive(const Request& request) override;
  Result<void> finish(SequenceId id) override;
  Result<void> depart(SequenceId id) override;
  Result<void> hold(SequenceId id) override;
  Result<void> release(SequenceId id) override;
  Result<void> paged_out(SequenceId id, Tier to) override;
  Result<void> paged_in(SequenceId id) override;
  Result<void> copy_failed(SequenceId id) override;
  Result<void> moved(SequenceId id, Tier to) override;
  Result<void> lost(SequenceId id) override;
  void set_device_blocks(std::uint32_t blocks) override;
  void set_swap_blocks(std::uint32_t blocks) override;
  void set_swap_tier(Tier tier) override;
  Result<void> set_time(double) override { return {}; }
  Result<void> set_seconds_per_block(Tier, double) override { return {}; }
  const Batch& next() override;
  Result<void> commit(std::uint32_t iterations = 1) override;
  Result<SequenceStatus> sequence(SequenceId id) const override;
  SchedulerStatus status() const noexcept override;

 protected:
  using Select = std::function<bool(const NaiveSequence&)>;
  // --- what differs between policies -----------------------------------------------------------
  virtual void plan() { plan_queue(); }
  virtual void arrived(NaiveSequence&) {}
  virtual void answered(NaiveSequence&) {}  // it ends here and nowhere else
  virtual void finished(NaiveSequence&) {}
  virtual void became_outside(NaiveSequence&) {}  // waiting or swapped from now on; also at first
  virtual void outside_again(NaiveSequence& s) { became_outside(s); }  // its page-in failed
  virtual void left(NaiveSequence&) {}             // its state is about to change
  virtual void entered(NaiveSequence&) {}          // was outside, is computed or paged in
  virtual void became_resident(NaiveSequence&) {}  // without having been computed
  virtual void capacity_changed() {}
  virtual void served(NaiveSequence&, std::uint32_t /*tokens*/, std::uint32_t /*generated*/) {}
  virtual void committed() {}
  virtual bool falls_back() const { return false; }
  virtual Tier tier_out() { return options_.swap_tier; }
  // Whoever is let in next, of those outside who have not been passed over in this plan.
  virtual NaiveSequence* first_in_line(const std::vector<SequenceId>& passed);
  virtual void let_in(NaiveSequence&) {}
  virtual void begin_admission() {}

  // --- memory ----------------------------------------------------------------------------------
  std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + options_.block_tokens - 1) / options_.block_tokens);
  }
  bool too_large(const NaiveSequence& s) const {
    return blocks_for(s.known()) > options_.device_blocks;
  }
  std::int64_t free_blocks() const;
  std::int64_t coming_blocks() const;  // of copies out under way
  Preemption::How how_wanted(const NaiveSequence& s) const;
  Preemption::How how_out(const NaiveSequence& s) const;
  std::uint64_t swapped() const;                // blocks
  bool fits_swapped(std::uint64_t more) const;  // blocks, into the swap space

  // --- orders ----------------------------------------------------------------------------------
  void order_out(NaiveSequence& s, Preemption::How how);
  void order_in(NaiveSequence& s);
  void set_aside(NaiveSequence& s);
  void add_decode(NaiveSequence& s);
  void add_prefill(NaiveSequence& s, std::uint32_t tokens);
  void plan_queue();
  std::vector<NaiveSequence*> select(const Select& wanted);  // in order of arrival
  std::uint32_t most_sequences() const {
    return options_.max_sequences > 0 ? options_.max_sequences : options_.budget_tokens;
  }
  void changed() { stale_ = true; }

  SchedulerOptions options_;
  std::map<std::uint64_t, NaiveSequence> all_;  // by arrival
  Batch batch_;

 private:
  NaiveSequence& at(SequenceId id);
  void forget(NaiveSequence& s);
  void begin_hold(NaiveSequence& s);
  void begin_holds();
  void replan();
  void commit_once();
  bool preempt_latest();
  void admit(std::uint32_t tokens, std::size_t places, std::int64_t left);

  std::uint64_t arrivals_ = 0;
  std::uint64_t full_at_ = 0;   // blocks swapped when a page-out failed …
  std::uint32_t full_for_ = 0;  // … and for so many iterations there may not be more
  bool planned_ = false, stale_ = true;
};

}  // namespace aqua::schedule::test
