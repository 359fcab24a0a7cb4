// SPDX-License-Identifier: Apache-2.0
// What each stage computed when, in Chrome's trace format: a process a pipeline, a lane a stage.
#pragma once

#include <string>
#include <vector>

#include "tools/sim/pipeline/outcome.hpp"

namespace aqua::sim {

// `name` begins the names of pipelines, so that several runs may be told apart. Events, separated
// by commas, of processes from `first` on: chrome_trace() makes a file of them.
[[nodiscard]] std::string chrome_events(const PipelineOutcome& outcome, const std::string& name,
                                        std::uint32_t first);
// To be opened with chrome://tracing or Perfetto.
[[nodiscard]] std::string chrome_trace(const std::vector<std::string>& events);

}  // namespace aqua::sim
