// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/side.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "aqua/kv_stream/equations.hpp"
#include "aqua/kv_stream/swap.hpp"

// KV on a machine, by role, for each layer of its stage. A pipeline of depth d has d microbatches
// in flight, so that no stage is without work.
//   colocated: d microbatches, prompt and answer, from their first step to their last.
//   prompt:    the prompt that is computed, and those on their way out: a microbatch passes each
//              stage once.
//   token:     d microbatches, prompt and answer, and prompts on their way in.
// Swapped: one or two microbatches (swap_buffers()), one computed while the next replaces the last;
// d and what comes in are away. With d of 1 there is nothing to swap.
namespace aqua::kv_stream {
namespace {

bool may_swap(const PlanInput& in, Role role, std::uint32_t depth) {
  return role != Role::prompt && in.away.host_bytes > 0 && depth > 1;
}

std::uint32_t stage_layers(const PlanInput& in, std::uint32_t depth) {
  return (in.layers + depth - 1) / depth;
}

Side sized(const PlanInput& in, Role role, std::uint32_t depth, std::uint32_t requests,
           bool swaps) {
  const std::uint64_t prompt = in.layer_kv_bytes * requests * in.prompt_tokens;
  const std::uint64_t whole = prompt + in.layer_kv_bytes * requests * kept_tokens(in);
  const std::uint64_t buffers = in.streaming_buffers * prompt;
  const std::uint32_t layers = stage_layers(in, depth);
  std::uint64_t kv = whole * (swaps ? swap_buffers(depth) : depth);
  if (role == Role::prompt) kv = prompt + buffers;
  if (role == Role::token && !swaps) kv += buffers;
  Side side{
      .pipelines = 1, .depth = depth, .layers = layers, .microbatch = requests, .swaps = swaps};
  side.bytes = in.reserved_bytes + layers * (in.layer_weight_bytes + kv);
  side.fits = side.bytes <= in.machine_bytes;
  if (!swaps) return side;
  const std::uint64_t coming = role == Role::token ? layers * buffers : 0;
  side.host_bytes = layers * whole * depth + coming;
  const auto places = place_away(in.away, depth, layers * whole, coming);
  side.fits = side.fits && places.has_value();
  side.away = places.value_or(AwayPlaces{});
  return side;
}

double seconds_of(Role role, const Side& side, const SideTimes& times) {
  if (role == Role::prompt) return std::max(times.prompt, times.stream);
  const double all = inverse_throughput(side.depth, times.prompt, times.steps);
  return role == Role::token ? std::max(all, times.stream) : all;
}

// What is to be small: seconds of a request, if this side were all.
double worth(const PlanInput& in, Role role, const Side& side) {
  if (in.requests == 0 || !side.fits) return side.seconds / side.microbatch;
  const SideTimes times = times_of(in, role, side);
  const std::uint64_t most = most_microbatches(in, side);
  const double all = role == Role::prompt
                         ? (static_cast<double>(most) + side.depth - 1) * side.seconds
                         : makespan(side.depth, times.prompt, times.steps, most);
  return all / static_cast<double>(in.requests);
}

bool better(const PlanInput& in, Role role, const Side& a, const Side& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return std::pair(lacks_host(in, a), a.bytes) < std::pair(lacks_host(in, b), b.bytes);
  const auto key = [&](const Side& side) {
    return std::tuple(worth(in, role, side), side.swaps, side.microbatch);
  };
  return key(a) < key(b);
}

}  // namespace

SideTimes times_of(const PlanInput& in, Role role, const Side& side) {
  const auto cost =
      std::find_if(in.microbatches.begin(), in.microbatches.end(),
                   [&](const MicrobatchCost& each) { return each.requests == side.microbatch; });
  const double share = static_cast<double>(side.layers) / in.layers;
  const double token = cost->token_seconds * share;
  SideTimes times{.prompt = cost->prompt_seconds * share, .stream = cost->stream_seconds * share};
  if (role == Role::prompt) {
    times.prompt *= in.stream_overhead;
    return times;
  }
  if (role == Role::token) times.prompt = 0;
  if (!side.swaps) {
    times.steps = token_steps(token, in.new_tokens);
    return times;
  }
  const SwapCopies copies = swap_copies(
      in.away, side.away, side.layers * in.layer_kv_bytes * side.microbatch, side.depth);
  times.steps = swapped_steps(token, in.new_tokens, in.prompt_tokens, copies);
  if (role == Role::colocated)
    times.prompt = swapped_prompt(times.prompt, in.prompt_tokens, copies);
  return times;
}

std::uint64_t most_microbatches(const PlanInput& in, const Side& side) {
  const std::uint64_t all = (in.requests + side.microbatch - 1) / side.microbatch;
  return (all + side.pipelines - 1) / side.pipelines;
}

bool lacks_host(const PlanInput& input, const Side& side) {
  return side.host_bytes > input.away.host_bytes;
}

Side best_side(const PlanInput& input, Role role, std::uint32_t depth, std::uint32_t pipelines) {
  Side best;
  for (const MicrobatchCost& cost : input.microbatches) {
    for (const bool swaps : {false, true}) {
      const bool may = may_swap(input, role, depth);
      if (swaps ? !may : may && input.only_swapped) continue;
      Side side = sized(input, role, depth, cost.requests, swaps);
      // Without swapping it may fit, so that host memory is not what is lacking.
      if (lacks_host(input, side) && !input.only_swapped) continue;
      side.pipelines = pipelines;
      side.seconds = seconds_of(role, side, times_of(input, role, side));
      if (best.depth == 0 || better(input, role, side, best)) best = side;
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
  const std::uint64_t swapped =
      std::min(room / (one * swap_buffers(depth)), input.away.host_bytes / (one * depth));
  return input.only_swapped ? swapped : std::max(kept, swapped);
}

}  // namespace aqua::kv_stream
