// SPDX-License-Identifier: Apache-2.0
// The parts of layer_pool_bench. Each opens runtimes of its own, on emulated devices, and adds
// rows.
#pragma once

#include "harness.hpp"
#include "layer_pool_bench/borrower.hpp"
#include "layer_pool_bench/effort.hpp"
#include "layer_pool_bench/report.hpp"

namespace aqua::bench {

// A step with half of the layers streamed, whose copies take 0.9 of what the layers compute, over
// one with all of them resident. And without prefetch, over the same.
void measure_step(Report& report, const Effort& effort);
void measure_on_demand(Report& report, const Effort& effort);
// How few frames there can be without stalls, for three speeds of the link.
void measure_links(Report& report, const Effort& effort);
// The schedules `fixed` and `fifo` beside each other, over the same links.
void measure_schedules(Report& report, const Effort& effort);
// The goal `capacity` against every fixed number of frames.
void measure_adaptive(Report& report, const Effort& effort);
// What it does when others take half of the link, for long and for a moment.
void measure_halved(Report& report, const Effort& effort);
void measure_burst(Report& report, const Effort& effort);
// The goal `memory`, with another process in what the frames leave.
void measure_memory(Report& report, const Effort& effort, const Coordinator& coordinator,
                    BorrowerProcess& borrower);

}  // namespace aqua::bench
