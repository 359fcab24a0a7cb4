// SPDX-License-Identifier: Apache-2.0
#include "workload.hpp"

#include <algorithm>
#include <cmath>

#include "must.hpp"
#include "sizes.hpp"

namespace aqua::example {
namespace {

std::vector<TraceRequest> load_trace(const WorkloadOptions& options) {
  if (options.trace.empty()) {
    TraceShape shape;
    shape.requests = options.requests;
    shape.seed = options.seed;
    return must(make_trace(shape), "trace");
  }
  TraceLimits limits;
  limits.first_requests = options.requests;
  return must(read_trace_file(options.trace, limits), options.trace.string());
}

// Counts what it cuts.
std::uint32_t at_most(std::uint32_t tokens, std::uint32_t limit, std::size_t& cut) {
  if (tokens > limit) ++cut;
  return std::clamp(tokens, 1U, limit);
}

}  // namespace

Workload load_workload(const WorkloadOptions& options) {
  const std::vector<TraceRequest> trace = load_trace(options);
  Workload work;
  work.source = options.trace.empty() ? "made up, seed " + std::to_string(options.seed) +
                                            ", in the shape of azure_llm_inference_conv_2023"
                                      : options.trace.filename().string();
  const double span_ms = static_cast<double>(trace.back().arrival.count()) / 1000;
  work.arrivals_faster =
      std::max(1.0, span_ms / static_cast<double>(std::max<long>(options.arrivals_in.count(), 1)));
  work.output_scale = options.output_scale;
  for (const TraceRequest& request : trace) {
    WorkItem item;
    item.id = work.items.size();
    item.arrival_ms = static_cast<std::uint64_t>(static_cast<double>(request.arrival.count()) /
                                                 1000 / work.arrivals_faster);
    item.prompt_tokens = at_most(request.prompt_tokens, kMaxPromptTokens, work.prompts_cut);
    const auto scaled = static_cast<std::uint32_t>(
        std::lround(static_cast<double>(request.output_tokens) * options.output_scale));
    item.output_tokens = at_most(scaled, kMaxOutputTokens, work.outputs_cut);
    work.prompt_tokens += item.prompt_tokens;
    work.output_tokens += item.output_tokens;
    work.items.push_back(item);
  }
  return work;
}

}  // namespace aqua::example
