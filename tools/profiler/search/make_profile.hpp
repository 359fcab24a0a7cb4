// SPDX-License-Identifier: Apache-2.0
// The profile of a model, from one probe to the next.
// Threads: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/profiler/search/probing.hpp"
#include "tools/profiler/search/rate_search.hpp"
#include "tools/profiler/search/record.hpp"

namespace aqua::profiler {

struct LlmOptions {
  RateRange range{};
  Sla sla{};  // what a client that is late is held against
  std::uint64_t seed = 1;
  std::vector<double> bursts{2, 3};  // times the stable rate; looked at unless it is a producer
};

struct Hooks {
  // The record has changed: keep it. Not called while nothing has been measured.
  std::function<Result<void>(const Record&)> save{};
  // What is done now, steps done, steps at most.
  std::function<void(const std::string&, std::size_t, std::size_t)> progress{};
};

// Goes on from what `record` has already been told, and ends with a complete one. Whatever stops
// it is in record.evidence.reason, and what was found before is kept: errors as Probing has them;
// failed_precondition when no rate of the range meets the SLA, or the probes leave open which does;
// invalid_argument when the record is of another search.
[[nodiscard]] Result<void> profile_llm(Record& record, Probing& probing, const LlmOptions& options,
                                       const Hooks& hooks);
// Likewise, of an image or audio model, with batches of at most `most` items.
[[nodiscard]] Result<void> profile_batches(Record& record, Probing& probing, std::size_t most,
                                           const Hooks& hooks);

}  // namespace aqua::profiler
