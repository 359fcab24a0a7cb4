// SPDX-License-Identifier: Apache-2.0
// QueueScheduler runs residents to their end and lets others in when there is memory, as vLLM 0.5
// does with chunked prefill: residents come first, in order of arrival; when a block is wanted and
// none is free, the latest to arrive is preempted; nobody is let in while memory is short; a prompt
// is let in when all its blocks are free and, beside others, a hundredth of the device is left.
//
// fcfs is this with admission by arrival; vtc admits in another order; las and cfs plan with it
// while they fall back.
#pragma once

#include <vector>

#include "systems/schedule/decide/admission_order.hpp"
#include "systems/schedule/decide/scheduler_base.hpp"

namespace aqua::schedule {

class QueueScheduler : public SchedulerBase {
 public:
  using SchedulerBase::SchedulerBase;

 protected:
  void plan_queue(AdmissionOrder& order);

 private:
  struct Room;  // what is left of tokens, places and blocks while a plan is made
  void preempt_latest(Room& room);
  void plan_residents(Room& room);
  void admit(AdmissionOrder& order, Room& room);
  [[nodiscard]] std::uint32_t iterations_without_change(const Room& room);

  std::vector<Slot> running_;         // by arrival
  std::vector<std::uint32_t> slack_;  // tokens until each decode wants a block
};

class FcfsScheduler final : public QueueScheduler {
 public:
  using QueueScheduler::QueueScheduler;
  [[nodiscard]] std::string_view name() const noexcept override { return "fcfs"; }

 protected:
  void plan() override {
    ArrivalOrder order(table_);
    plan_queue(order);
  }
  [[nodiscard]] double service_of(Slot) const override { return 0; }
};

}  // namespace aqua::schedule
