// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/shape.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::sim {
namespace {

Error no_shape(const std::string& what) {
  return Error{Code::invalid_argument, concat("pipelines: ", what)};
}

Result<void> check_side(const char* name, const PipelineSide& side, std::uint32_t layers) {
  if (side.depth == 0 || side.depth > layers) {
    return no_shape(concat(name, " pipelines have ", side.depth, " stages: 1 to ", layers,
                           ", as the model has layers"));
  }
  if (side.microbatch == 0)
    return no_shape(concat(name, " microbatches of 0 requests: at least 1"));
  return {};
}

}  // namespace

double makespan_bound(const PipelineShape& shape, const PassCost& cost,
                      const std::vector<TraceRequest>& requests) {
  std::uint32_t longest_prompt = 1, longest = 1;
  double tokens = 0;
  for (const TraceRequest& request : requests) {
    longest_prompt = std::max(longest_prompt, request.prompt_tokens);
    longest = std::max(longest, request.prompt_tokens + request.output_tokens);
    tokens += request.output_tokens;
  }
  const std::uint32_t most = std::max(shape.prompt.microbatch, shape.token.microbatch);
  const std::uint32_t depth = std::max(shape.prompt.depth, shape.token.depth);
  const auto sent = [&](double computed) {
    if (!shape.links) return 0.0;
    const double bytes = computed * std::max(shape.links->activation_bytes, 4.0);
    return depth * (seconds(shape.links->latency) + bytes / shape.links->bytes_per_second);
  };
  const auto swapped = [&](double kv_tokens) {
    if (!shape.swaps) return 0.0;
    const kv_stream::AwayMemory& memory = shape.swaps->memory;
    const double rate = shape.swaps->places.lent == 0
                            ? memory.host_bytes_per_second
                            : std::min(memory.host_bytes_per_second, memory.lent_bytes_per_second);
    return kv_tokens * shape.layers * static_cast<double>(shape.layer_kv_bytes) / rate;
  };
  const StageLayers all{.first = 0, .count = shape.layers, .of = shape.layers};
  double prompt_pass = 0, token_pass = 0;
  for (std::uint32_t b = 1; b <= most; ++b) {
    const Pass prompts{.prompts = b,
                       .prompt_tokens = std::uint64_t{b} * longest_prompt,
                       .prompt_attention = b * cost.prompt_attention(longest_prompt, 0),
                       .first_tokens = b};
    const Pass decodes{.decodes = b, .kv_tokens = std::uint64_t{b} * longest};
    const auto prompt_tokens = static_cast<double>(prompts.prompt_tokens);
    double prompt = seconds(cost.stage_time(prompts, all)) * shape.stream_overhead;
    prompt += sent(prompt_tokens) + swapped(2 * prompt_tokens);
    if (shape.links && shape.apart()) {
      prompt += prompt_tokens * shape.layers * static_cast<double>(shape.layer_kv_bytes) /
                shape.links->bytes_per_second;
    }
    // Each prompt of the pass is one less to be computed; of its decodes one is needed, perhaps.
    prompt_pass = std::max(prompt_pass, prompt / (shape.chunk_tokens > 0 ? 1 : b));
    token_pass = std::max(token_pass, seconds(cost.stage_time(decodes, all)) + sent(b) +
                                          swapped(b * (longest + 1.0)));
  }
  const double parts = shape.chunk_tokens > 0 ? 1 + longest_prompt / shape.chunk_tokens : 1;
  const auto count = static_cast<double>(requests.size());
  const double work = count * parts * prompt_pass + tokens * token_pass;
  double down = seconds(shape.recovery_times.detection) + seconds(shape.recovery_times.restart) +
                seconds(shape.recovery_times.weights);
  if (shape.links && shape.machine_bytes > 0) {
    down += static_cast<double>(shape.machine_bytes) / shape.links->bytes_per_second;
  }
  const auto outages = static_cast<double>(shape.outages.size() + (shape.outage_rate ? 1 : 0));
  return seconds(requests.back().arrival) + work * (1 + outages) + down * outages;
}

Result<void> check(const PipelineShape& shape, const PassCost& cost,
                   const std::vector<TraceRequest>& requests) {
  if (shape.layers == 0) return no_shape("a model of 0 layers: at least 1");
  if (shape.token.pipelines == 0) return no_shape("no pipeline for tokens: at least 1");
  AQUA_TRY(check_side("token", shape.token, shape.layers));
  if (shape.apart()) AQUA_TRY(check_side("prompt", shape.prompt, shape.layers));
  if (!(shape.stream_overhead >= 1)) {
    return no_shape(concat("stream_overhead is ", shape.stream_overhead,
                           ": at least 1, which is streaming that costs nothing"));
  }
  if (shape.apart() && (shape.chunk_tokens > 0)) {
    return no_shape(
        "prompts in chunks go with tokens in the same pipeline: not with prompts apart");
  }
  if (shape.swaps && shape.may_fail()) {
    return no_shape("outages with microbatches that are swapped are not simulated: one of both");
  }
  if (shape.swaps && shape.swaps->memory.host_bytes_per_second <= 0)
    return no_shape("swapping to host memory at no rate: above 0");
  if (shape.may_fail() && shape.apart())
    return no_shape("outages are of pipelines that compute prompts and tokens");
  if (shape.outage_rate &&
      !(shape.outage_rate->mean_seconds > 0 && std::isfinite(shape.outage_rate->mean_seconds))) {
    return no_shape(concat("machines fail every ", shape.outage_rate->mean_seconds,
                           " s in the mean: a number above 0"));
  }
  for (const Outage& outage : shape.outages) {
    if (outage.pipeline >= shape.token.pipelines || outage.stage >= shape.token.depth) {
      return no_shape(concat("an outage of stage ", outage.stage, " of pipeline ", outage.pipeline,
                             ": there are ", shape.token.pipelines, " of ", shape.token.depth,
                             " stages, from 0 on"));
    }
  }
  if (!std::ranges::is_sorted(shape.outages, {}, &Outage::at))
    return no_shape("outages are not in the order of time");
  if (requests.size() < 2) {
    return no_shape(
        concat("a trace of ", requests.size(), " requests shows nothing of pipelines: at least 2"));
  }
  for (const TraceRequest& request : requests) {
    if (request.prompt_tokens == 0) return no_shape("an empty prompt: at least 1 token");
    if (request.output_tokens == 0) return no_shape("an answer of 0 tokens: at least 1");
  }
  const double bound = makespan_bound(shape, cost, requests);
  if (!(bound <= kMostSeconds)) {
    return no_shape(concat("the run may take ", bound, " s, with ", requests.size(),
                           " requests one after another: at most ", kMostSeconds,
                           "; fewer requests, or shorter times"));
  }
  return {};
}

void take_split(PipelineShape& shape, const kv_stream::PlanInput& input,
                const kv_stream::Split& split) {
  const auto side = [](const kv_stream::Side& of) {
    return PipelineSide{.pipelines = of.pipelines, .depth = of.depth, .microbatch = of.microbatch};
  };
  shape.prompt = side(split.prompt);
  shape.token = side(split.token);
  shape.swaps.reset();
  if (!split.token.swaps) return;
  const std::uint64_t tokens =
      std::uint64_t{input.prompt_tokens} + std::max(input.reserved_tokens, input.new_tokens);
  shape.swaps = {.memory = input.away,
                 .places = split.token.away,
                 .host_bytes = std::uint64_t{split.token.depth} * split.token.layers *
                               input.layer_kv_bytes * split.token.microbatch * tokens};
}

void take_input(PipelineShape& shape, const kv_stream::PlanInput& input) {
  shape.layers = input.layers;
  shape.stream_overhead = input.stream_overhead;
  shape.streaming_buffers = input.streaming_buffers;
  shape.layer_kv_bytes = input.layer_kv_bytes;
  shape.layer_weight_bytes = input.layer_weight_bytes;
  shape.reserved_bytes = input.reserved_bytes;
  shape.machine_bytes = input.machine_bytes;
}

}  // namespace aqua::sim
