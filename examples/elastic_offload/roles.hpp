// SPDX-License-Identifier: Apache-2.0
// What each process of the demonstration runs. Each returns the exit status, or throws.
//
// Engines read commands from stdin and write what happens to stdout, one JSON object a line:
//   to all        {"do": "finish"}            last stats, then the runtime is closed
//   to consumers  {"do": "submit", "go": B, "items": [WorkItem ...]}
//                                              B: arrival times count from here
//                 {"do": "lending", "use": B}  whether preempted KV may go to lent memory
//                 {"do": "resize", "until": N} change the frames of layers N times in all
//   to producers  {"do": "surge", "ms": N}     report more load than steady for so long
//   from all      {"say": "ready"}, {"say": "stats", "stats": {...}}, {"say": "final", ...}
#pragma once

#include "options.hpp"

namespace aqua::example {

[[nodiscard]] int run_orchestrator(const Options& options);
[[nodiscard]] int run_coordinator(const Options& options);  // becomes aqua-coordinator
[[nodiscard]] int run_producer(const Options& options);
[[nodiscard]] int run_consumer(const Options& options);

// What runtimes of all roles have in common.
[[nodiscard]] std::string coordinator_address(const Options& options);

}  // namespace aqua::example
