// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/requests.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/random.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::sim {
namespace {

constexpr std::size_t kRun = 32;

// Cuts runs of kRun into microbatches and shuffles these.
void shuffle_microbatches(std::vector<TraceRequest>& requests, std::uint32_t size, Random& random) {
  std::vector<std::vector<TraceRequest>> cut;
  for (std::size_t run = 0; run < requests.size(); run += kRun) {
    const std::size_t end = std::min(run + kRun, requests.size());
    for (std::size_t i = run; i < end; i += size) {
      const auto from = requests.begin() + static_cast<std::ptrdiff_t>(i);
      cut.emplace_back(from,
                       from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, end - i)));
    }
  }
  for (std::size_t i = cut.size(); i > 1; --i) std::swap(cut[i - 1], cut[random.below(i)]);
  requests.clear();
  for (const auto& part : cut) requests.insert(requests.end(), part.begin(), part.end());
}

}  // namespace

std::vector<TraceRequest> requests_that_fit(const Trace& trace, const PipelineLoad& load) {
  std::vector<TraceRequest> fit;
  for (TraceRequest request : trace.requests) {
    if (load.prompt_tokens > 0) request.prompt_tokens = load.prompt_tokens;
    if (std::uint64_t{request.prompt_tokens} + request.output_tokens > load.context) continue;
    fit.push_back(request);
  }
  return fit;
}

Result<std::vector<TraceRequest>> pipeline_requests(const Trace& trace, const PipelineLoad& load,
                                                    std::uint64_t seed) {
  const std::vector<TraceRequest> fit = requests_that_fit(trace, load);
  if (trace.requests.size() < 2 || fit.empty()) {
    return Error{
        Code::invalid_argument,
        concat("pipelines: of ", trace.requests.size(), " requests ", fit.size(), " have at most ",
               load.context, " tokens: give a trace of at least 2, or a longer context")};
  }
  if (load.requests < 2 || load.microbatch == 0 || load.microbatch > kRun) {
    return Error{Code::invalid_argument,
                 concat("pipelines: ", load.requests, " requests in microbatches of ",
                        load.microbatch, ": at least 2, in 1 to ", kRun)};
  }
  if (load.per_second > 0) {
    AQUA_TRY(comes_in_time(static_cast<double>(load.requests) / load.per_second));
  }
  Random random(seed);
  const std::size_t start = random.below(fit.size());
  std::vector<TraceRequest> requests;
  for (std::size_t i = 0; i < load.requests; ++i) {
    const std::size_t at = load.stops == EarlyStops::microbatch ? i / kRun : i;
    TraceRequest request = fit[(start + at) % fit.size()];
    if (load.stops == EarlyStops::microbatch && load.prompt_tokens == 0) {
      request.prompt_tokens = fit[(start + i) % fit.size()].prompt_tokens;
    }
    requests.push_back(request);
  }
  if (load.stops == EarlyStops::none) {
    const PipelineLengths mean = lengths_of(requests);
    for (TraceRequest& request : requests) {
      request.prompt_tokens = static_cast<std::uint32_t>(std::llround(mean.prompt));
      request.output_tokens = static_cast<std::uint32_t>(std::llround(mean.output));
    }
  } else if (load.stops == EarlyStops::microbatch) {
    shuffle_microbatches(requests, load.microbatch, random);
  }
  Picos now = 0;
  for (TraceRequest& request : requests) {
    request.arrival = now;
    request.hash_begin = request.hash_count = 0;
    if (load.per_second <= 0) continue;
    AQUA_TRY(wait_for_next(now, random.exponential(1 / load.per_second)));
  }
  return requests;
}

PipelineLengths lengths_of(const std::vector<TraceRequest>& requests) {
  PipelineLengths lengths;
  for (const TraceRequest& request : requests) {
    lengths.prompt += request.prompt_tokens;
    lengths.output += request.output_tokens;
    lengths.longest_prompt = std::max(lengths.longest_prompt, request.prompt_tokens);
    lengths.longest_output = std::max(lengths.longest_output, request.output_tokens);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(requests.size(), 1));
  lengths.prompt /= count;
  lengths.output /= count;
  return lengths;
}

}  // namespace aqua::sim
