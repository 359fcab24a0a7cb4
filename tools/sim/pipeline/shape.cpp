// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/shape.hpp"

#include <algorithm>
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

Result<void> check(const PipelineShape& shape, const std::vector<TraceRequest>& requests) {
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
  for (const Outage& outage : shape.outages) {
    if (shape.apart()) return no_shape("outages are of pipelines that compute prompts and tokens");
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
  return {};
}

void take_split(PipelineShape& shape, const kv_stream::Split& split) {
  const auto side = [](const kv_stream::Side& of) {
    return PipelineSide{.pipelines = of.pipelines, .depth = of.depth, .microbatch = of.microbatch};
  };
  shape.prompt = side(split.prompt);
  shape.token = side(split.token);
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
