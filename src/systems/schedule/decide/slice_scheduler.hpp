// SPDX-License-Identifier: Apache-2.0
// SliceScheduler schedules fairly, with preemption, in slices of n iterations (Aqua, section 7). It
// is las and cfs, which differ in three places: rank_of(), deal(), and whether a change in the
// middle of a slice begins a new one. docs/engine/scheduling.md has the rules, and the bound on
// waits of cfs.
//
// A slice has members. Each is promised blocks for all that it may compute in the slice, so that no
// member runs out of memory in it. At its beginning residents that are no members are preempted, as
// many as the promises need; members come in as blocks become free.
#pragma once

#include <cstdint>
#include <vector>

#include "systems/schedule/decide/queue_scheduler.hpp"
#include "systems/schedule/decide/slice_queues.hpp"

namespace aqua::schedule {

class SliceScheduler final : public QueueScheduler {
 public:
  enum class Rule : std::uint8_t { las, cfs };
  SliceScheduler(Rule rule, const SchedulerOptions& options)
      : QueueScheduler(options), rule_(rule) {}
  [[nodiscard]] std::string_view name() const noexcept override {
    return rule_ == Rule::las ? "las" : "cfs";
  }

 protected:
  void plan() override;
  [[nodiscard]] double service_of(Slot slot) const override;
  [[nodiscard]] double lead_of(Slot slot) const override;
  [[nodiscard]] bool falling_back() const noexcept override;
  void on_outside(Slot slot) override;
  void on_leave(Slot slot) override;
  void on_paging_in(Slot slot) override;
  void on_resident(Slot slot) override;
  void on_computed(Slot slot, std::uint32_t tokens, std::uint32_t generated,
                   std::uint32_t iterations) override;
  void on_committed(std::uint32_t iterations) override;
  void on_capacity() override { over_ = true; }
  void on_finished(Slot slot) override;

 private:
  using Class = SliceQueues::Class;
  // What the scheduler keeps about a sequence, by slot.
  struct Share {
    double service = 0;          // cfs: virtual, iterations computed / weight
    std::uint64_t since = 0;     // iteration of the last service, or of the arrival
    std::uint64_t due = 0;       // cfs: the iteration from which it is served before rank
    bool due_set = false;        // `due` is set for the wait that began at `since`
    std::uint32_t promised = 0;  // device blocks in all, while a member
    bool member = false;
    bool granted = false;   // the promise is backed by free blocks
    bool sent_out = false;  // by this plan, which deals it no place again
    bool known = false;
  };
  // What the members take of the slice.
  struct Taken {
    std::int64_t blocks = 0;
    std::size_t places = 0;
    std::size_t decodes = 0;           // of the places
    std::uint64_t prefill_tokens = 0;  // still to be computed in it
  };
  // What is left to deal to others.
  struct Hand {
    std::int64_t blocks = 0;
    bool idle_taken = false;  // `blocks` leaves out what residents hold that are no members
    std::size_t places = 0;   // sequences
    std::size_t decodes = 0;  // of which at most so many decodes
    std::uint64_t prefill_tokens = 0;  // in the rest of the slice
  };

  // --- the slice (slice_scheduler.cpp) -----------------------------------------------------------
  void plan_slice();
  void plan_fallback();
  void begin_slice();
  void top_up();
  void end_members();
  void join(Slot slot, std::uint32_t promised);
  void preempt_idle();
  void run_slice();
  void grant();
  void fill_batch();
  void send_out(Slot slot, Preemption::How how);
  bool force_progress();
  void file(Slot slot);
  void set_due(Share& its);
  [[nodiscard]] double rank_of(Slot slot) const;
  [[nodiscard]] Class class_of(Slot slot) const {
    return table_.at(slot).decodes() ? SliceQueues::decode : SliceQueues::prefill;
  }
  Share& share(Slot slot);

  // --- the dealing (slice_deal.cpp) --------------------------------------------------------------
  [[nodiscard]] Taken taken() const;
  // Prefill tokens left in the rest of the slice, beside `decodes` decodes, less those planned.
  [[nodiscard]] std::uint64_t prefill_left(std::size_t decodes, std::uint64_t planned) const;
  [[nodiscard]] Hand hand(bool idle_taken) const;
  void deal(Hand& hand);
  void deal_las(Hand& hand);
  void deal_cfs(Hand& hand);
  template <typename Queue>
  bool pick(const Queue& queue, typename Queue::const_iterator& at, Hand& hand,
            std::uint64_t due = UINT64_MAX);
  bool offer(Slot slot, Hand& hand);
  [[nodiscard]] std::size_t decodes_that_fit(std::int64_t blocks) const;
  [[nodiscard]] std::uint32_t blocks_wanted(Slot slot, std::uint64_t prefill_tokens) const;
  void give_back(Hand& hand);
  [[nodiscard]] std::uint64_t prefill_planned(Slot slot) const;

  const Rule rule_;
  SliceQueues queues_;
  std::vector<Share> shares_;
  std::vector<Slot> members_;    // in the order dealt; may hold some that have left since
  std::vector<Slot> picked_;     // while dealing: new members that are still filed
  std::vector<Slot> idle_;       // residents who are no members
  std::vector<Slot> sent_out_;   // by this plan
  std::vector<Slot> too_large_;  // while dealing: to be set aside afterwards
  std::uint64_t last_due_ = 0;
  std::size_t places_ = 1;        // members of the last slice that left somebody out …
  std::uint32_t largest_ = 1;     // … and the most blocks ever promised to one
  double clock_ = 0;              // cfs: the least virtual service of the runnable, never falling
  std::uint64_t iterations_ = 0;  // computed in all
  std::uint64_t slices_ = 0;
  std::uint32_t done_ = 0;  // iterations of this slice
  bool over_ = true;        // the next plan begins a slice
  bool open_ = false;       // the next plan deals what is free in this one
  bool fallback_ = false;   // the last plan was first come, first served
  bool ran_ = false;        // something was computed since the slow tier last held something
};

}  // namespace aqua::schedule
