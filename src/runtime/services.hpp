// SPDX-License-Identifier: Apache-2.0
// Services is what lending and borrowing need of the runtime around them: its threads, its
// coordinator, its log. All of it outlives the lender and the borrower.
#pragma once

#include <functional>
#include <string>

#include "aqua/runtime.hpp"
#include "runtime/queues/callback_queue.hpp"
#include "runtime/queues/control_loop.hpp"
#include "runtime/queues/serial_queue.hpp"
#include "southbound/client.hpp"

namespace aqua::runtime {

// Only the control loop decides, and it never waits for a socket or an unmapping, so that neither
// delays the next copy. Such work runs on one of the two queues, which post the answer to the loop.
struct Services {
  ControlLoop& loop;
  SerialQueue& coordinator_calls;  // whatever blocks on a socket: calls, imports, probes
  SerialQueue& unmap_queue;        // unmapping takes milliseconds a slab
  CallbackQueue& callbacks;
  southbound::Client* coordinator;  // null: none is configured
  std::function<void(LogLevel, const std::string&)> log;
  std::function<void(BudgetReason)> budget_changed;
  // Wants a snapshot of the coordinator at that time, to tell it again what it has not heard; from
  // any thread (SecondLook).
  std::function<void(Clock::time_point)> look_again{};
};

// Converts the ledger's times, which are milliseconds of this process's steady clock.
[[nodiscard]] inline Clock::time_point to_clock(ledger::Time time) {
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(time));
}

}  // namespace aqua::runtime
