// SPDX-License-Identifier: Apache-2.0
// What is known of each request of a workload, wherever it is served. Engines between which
// requests move share one table; a request is with one of them at a time, which alone writes its
// row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/sim/engine/network.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::sim {

struct RequestTable {
  struct Progress {
    std::uint32_t generated = 0;
    std::uint32_t computed_once = 0;  // most tokens that had KV at a time
    Picos last_token = kNever;
    FlowId out = 0, in = 0, move = 0;  // under way
    std::size_t cached_blocks = 0;     // of its prefix, held until its first page-in fetched them
    // When it leaves an engine: tokens that have KV. When it is submitted: of these, those whose KV
    // has been sent to the engine, so that its first page-in copies nothing.
    std::uint32_t delivered = 0;
  };

  // The workload must outlive it.
  explicit RequestTable(const Workload& asked)
      : workload(asked), progress(asked.requests.size()), outcomes(asked.requests.size()) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const TraceRequest& request = asked.requests[i];
      outcomes[i].arrival = request.arrival;
      outcomes[i].prompt_tokens = request.prompt_tokens;
      outcomes[i].output_tokens = request.output_tokens;
    }
  }

  // Prompt and what was generated.
  [[nodiscard]] std::uint64_t known_tokens(std::uint32_t request) const {
    return std::uint64_t{outcomes[request].prompt_tokens} + progress[request].generated;
  }

  const Workload& workload;
  std::vector<Progress> progress;  // both as in the workload
  std::vector<RequestOutcome> outcomes;
};

}  // namespace aqua::sim
