// SPDX-License-Identifier: Apache-2.0
// What the lender and the borrower need of the runtime around them.
#pragma once

#include <functional>
#include <string>

#include "aqua/runtime.hpp"
#include "runtime/queues/callback_queue.hpp"
#include "runtime/queues/control_loop.hpp"
#include "runtime/queues/serial_queue.hpp"
#include "southbound/client.hpp"

namespace aqua::runtime {

// Calls that block on a socket run as errands, and what takes milliseconds of unmapping as
// returns, so that neither delays the next copy; what they bring back is posted to the
// loop, which alone decides. Everything here outlives the lender and the borrower.
struct Office {
  ControlLoop& loop;
  SerialQueue& errands;
  SerialQueue& returns;
  CallbackQueue& callbacks;
  southbound::Client* coordinator;  // null: none is configured
  std::function<void(LogLevel, const std::string&)> log;
  std::function<void(BudgetReason)> budget_changed;
};

// The ledger's times are milliseconds of this process's steady clock.
[[nodiscard]] inline Clock::time_point to_clock(ledger::Time time) {
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(time));
}

}  // namespace aqua::runtime
