// SPDX-License-Identifier: Apache-2.0
// From the options of `aqua simulate` to what tools/sim runs.
#pragma once

#include "tools/cli/simulate/simulate_options.hpp"
#include "tools/sim/input/trace.hpp"
#include "tools/sim/report/comparison.hpp"

namespace aqua::tool {

[[nodiscard]] Result<sim::Ground> ground_of(const SimulateOptions& options);
// failed_precondition where even a single answer has longer between two tokens, or waits longer for
// its first though its prompt has one token (or is cached up to its last).
[[nodiscard]] Result<void> can_be_met(const sim::Sla& sla, const sim::Ground& ground);
// What is asked, for people.
[[nodiscard]] std::string describe(const SimulateOptions& options, double rate);
[[nodiscard]] sim::MakeWorkload workload_of(const SimulateOptions& options, const sim::Trace& trace,
                                            double rate);
// The highest Poisson rate of the trace's lengths at which fcfs keeps the SLA's TTFT for 99 of 100
// requests and its TPOT in the mean (after Aqua's profiler, section 4.1): halving intervals to
// within 2 %, 300 requests, seed 1. failed_precondition when not even one a 1000 seconds does.
[[nodiscard]] Result<double> stable_rate(const sim::Ground& ground, const sim::Trace& trace,
                                         const sim::Sla& sla);

}  // namespace aqua::tool
