// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/load.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::profiler {

std::vector<Ask> asks_of(const sim::Workload& workload, const LengthLimits& limits) {
  const std::uint64_t most = std::max<std::uint64_t>(2, limits.max_tokens);
  std::vector<Ask> asks;
  asks.reserve(workload.requests.size());
  for (const sim::TraceRequest& request : workload.requests) {
    const std::uint64_t output = std::min<std::uint64_t>(request.output_tokens, most - 1);
    const std::uint64_t prompt = std::min<std::uint64_t>(request.prompt_tokens, most - output);
    asks.push_back({.at_s = sim::seconds(request.arrival),
                    .prompt_tokens = static_cast<std::uint32_t>(prompt),
                    .output_tokens = static_cast<std::uint32_t>(output)});
  }
  return asks;
}

Result<void> playable(const std::vector<Ask>& asks) {
  constexpr std::size_t most = 100'000'000;
  const std::size_t tokens = gaps_of(asks) + asks.size();
  if (tokens <= most) return {};
  return Error{
      Code::invalid_argument,
      concat("a load of ", asks.size(), " requests has answers of ", tokens, " tokens, at most ",
             most, " are kept in mind: give fewer --requests, or a trace of shorter answers")};
}

std::size_t gaps_of(const std::vector<Ask>& asks) {
  std::size_t gaps = 0;
  for (const Ask& ask : asks) gaps += ask.output_tokens - 1;
  return gaps;
}

}  // namespace aqua::profiler
