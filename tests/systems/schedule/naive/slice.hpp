// SPDX-License-Identifier: Apache-2.0
// las and cfs, in words (docs/engine/scheduling.md, "Policies"): a slice has members with promised
// blocks. Who is no member and wants to be computed waits, in one of two classes, prefill and
// decode. A slice deals places to those who wait, in the policy's order, worked out by sorting.
#pragma once

#include "tests/systems/schedule/naive/scheduler.hpp"

namespace aqua::schedule::test {

class NaiveSlice final : public NaiveScheduler {
 public:
  NaiveSlice(bool fair, const SchedulerOptions& options) : NaiveScheduler(options), cfs_(fair) {}

 protected:
  void plan() override;
  bool falls_back() const override;
  void arrived(NaiveSequence& s) override;
  void finished(NaiveSequence&) override { over_ |= !cfs_; }
  void became_outside(NaiveSequence& s) override;
  void left(NaiveSequence& s) override;
  void became_resident(NaiveSequence&) override;
  void entered(NaiveSequence& s) override;
  void capacity_changed() override { over_ = true; }
  void served(NaiveSequence& s, std::uint32_t tokens, std::uint32_t generated) override;
  void committed() override;

 private:
  // What is left to deal of the slice.
  struct Left {
    std::int64_t blocks = 0;
    std::size_t places = 0, decodes = 0;
    std::uint64_t prefill_tokens = 0;
    bool idle_stay = false;  // idle residents keep their blocks; a place counts what it adds
  };
  using Line = std::vector<NaiveSequence*>;

  void plan_slice();
  void plan_fallback();
  void begin_slice();
  void deal(bool idle_stay);
  void deal_las(Left& left);
  void deal_cfs(Left& left);
  bool offer(NaiveSequence& s, Left& left);
  void preempt_idle();
  void grant();
  void fill();
  void join(NaiveSequence& s, std::uint32_t promised);
  void date_waits();

  Line members();  // in the order dealt
  Line waiting_in(bool decodes, bool by_date);
  // The first of a line who is no member; those larger than the device are noted and passed.
  NaiveSequence* head(bool decodes, bool by_date);
  static bool waits(const NaiveSequence& s) { return !s.member && (s.outside() || s.resident()); }
  double rank(const NaiveSequence& s) const;
  std::uint32_t wanted(const NaiveSequence& s, std::uint64_t prefill_tokens) const;
  std::uint64_t planned_tokens(const NaiveSequence& s) const;
  std::uint64_t prefill_left();
  std::uint64_t rest() const { return options_.slice_iterations - done_; }

  const bool cfs_;
  std::vector<SequenceId> order_;   // of members, as dealt
  std::vector<SequenceId> larger_;  // met while dealing
  std::uint64_t last_due_ = 0, iterations_ = 0, slices_ = 0;
  std::size_t places_ = 1;     // members of the last slice that left somebody out
  std::uint32_t largest_ = 1;  // most blocks ever promised to one
  std::uint32_t done_ = 0;
  bool fallback_ = false, ran_ = false;
  double clock_ = 0;
  bool over_ = true, open_ = false;
};

}  // namespace aqua::schedule::test
