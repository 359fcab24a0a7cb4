// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/side.hpp"

#include <algorithm>
#include <tuple>

#include "aqua/kv_stream/equations.hpp"

// KV on a machine, by role, for each layer of its stage. A pipeline of depth d has d microbatches
// in flight, so that no stage is without work.
//   colocated: d microbatches, prompt and answer, from their first step to their last.
//   prompt:    the prompt that is computed, and those on their way out: a microbatch passes each
//              stage once.
//   token:     d microbatches, prompt and answer, and prompts on their way in.
// Swapped: two microbatches, one computed while the next replaces the last; d and what comes in are
// in host memory. With d below 3 that saves nothing.
namespace aqua::kv_stream {
namespace {

constexpr std::uint32_t kSwapSlots = 2;

std::uint32_t stage_layers(const PlanInput& in, std::uint32_t depth) {
  return (in.layers + depth - 1) / depth;
}

bool may_swap(const PlanInput& in, Role role, std::uint32_t depth) {
  return role != Role::prompt && in.host_bytes > 0 && depth > kSwapSlots;
}

Side sized(const PlanInput& in, Role role, std::uint32_t depth, std::uint32_t requests,
           bool swaps) {
  const std::uint64_t prompt = in.layer_kv_bytes * requests * in.prompt_tokens;
  const std::uint64_t whole = prompt + in.layer_kv_bytes * requests * kept_tokens(in);
  const std::uint64_t buffers = in.streaming_buffers * prompt;
  std::uint64_t kv = whole * (swaps ? kSwapSlots : depth), host = swaps ? whole * depth : 0;
  if (role == Role::prompt) kv = prompt + buffers;
  if (role == Role::token) (swaps ? host : kv) += buffers;
  const std::uint32_t layers = stage_layers(in, depth);
  Side side{
      .pipelines = 1, .depth = depth, .layers = layers, .microbatch = requests, .swaps = swaps};
  side.bytes = in.reserved_bytes + layers * (in.layer_weight_bytes + kv);
  side.host_bytes = layers * host;
  side.fits = side.bytes <= in.machine_bytes && side.host_bytes <= in.host_bytes;
  return side;
}

double seconds_of(const PlanInput& in, Role role, const Side& side, const MicrobatchCost& cost) {
  const double share = static_cast<double>(side.layers) / in.layers;
  const double prompt = cost.prompt_seconds * share, token = cost.token_seconds * share;
  const double stream = cost.stream_seconds * share;
  if (role == Role::prompt) return std::max(in.stream_overhead * prompt, stream);
  double copy = 0;  // seconds for a token of each request
  if (side.swaps) {
    copy = static_cast<double>(side.layers * in.layer_kv_bytes * side.microbatch) /
           in.host_bytes_per_second;
  }
  const TokenSteps steps = token_steps(token, in.new_tokens, in.prompt_tokens, copy);
  if (role == Role::token) return std::max(inverse_throughput(side.depth, 0, steps), stream);
  return inverse_throughput(side.depth, std::max(prompt, copy * in.prompt_tokens), steps);
}

bool better(const Side& a, const Side& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.bytes < b.bytes;
  const auto key = [](const Side& side) {
    return std::tuple(side.seconds / side.microbatch, side.swaps, side.microbatch);
  };
  return key(a) < key(b);
}

}  // namespace

Side best_side(const PlanInput& input, Role role, std::uint32_t depth) {
  Side best;
  for (const MicrobatchCost& cost : input.microbatches) {
    for (const bool swaps : {false, true}) {
      if (swaps && !may_swap(input, role, depth)) continue;
      Side side = sized(input, role, depth, cost.requests, swaps);
      if (side.host_bytes > input.host_bytes) continue;
      side.seconds = seconds_of(input, role, side, cost);
      if (best.depth == 0 || better(side, best)) best = side;
    }
  }
  return best;
}

std::uint64_t largest_microbatch(const PlanInput& input, std::uint32_t depth) {
  const Side empty = sized(input, Role::colocated, depth, 0, false);
  if (!empty.fits) return 0;
  const std::uint64_t room = input.machine_bytes - empty.bytes;
  const std::uint64_t tokens = std::uint64_t{input.prompt_tokens} + kept_tokens(input);
  const std::uint64_t one = empty.layers * input.layer_kv_bytes * tokens;
  const std::uint64_t kept = room / (one * depth);
  if (!may_swap(input, Role::colocated, depth)) return kept;
  return std::max(kept, std::min(room / (one * kSwapSlots), input.host_bytes / (one * depth)));
}

}  // namespace aqua::kv_stream
