// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/splits.hpp"

#include <algorithm>
#include <tuple>

#include "systems/kv_stream/decide/side.hpp"

namespace aqua::kv_stream {
namespace {

// All requests come at once. A slot of a token pipeline takes one microbatch after another, each as
// long as its steps through all stages, from when prompts have come for it; the last microbatch
// begins no sooner than the last prompts have come.
double makespan_apart(const PlanInput& in, const Side& prompt, const Side& token) {
  const SideTimes steps = times_of(in, Role::token, token);
  const auto come = [&](std::uint64_t microbatch) {  // of each token pipeline, from 1 on
    const std::uint64_t requests =
        std::min<std::uint64_t>(in.requests, microbatch * token.microbatch * token.pipelines);
    const std::uint64_t prompts = (requests + prompt.microbatch - 1) / prompt.microbatch;
    const std::uint64_t most = (prompts + prompt.pipelines - 1) / prompt.pipelines;
    return std::max((static_cast<double>(most) + prompt.depth - 1) * prompt.seconds,
                    static_cast<double>(microbatch) * steps.stream);
  };
  const std::uint64_t all = most_microbatches(in, token);
  const std::uint64_t rounds = (all - 1) / token.depth, last = (all - 1) % token.depth;
  const double answer = token.depth * steps.steps.seconds;
  const double before =
      token.depth * inverse_throughput(token.depth, 0, steps.steps) * static_cast<double>(rounds);
  double end = std::max(come(all) + answer, come(last + 1) + before + answer);
  if (rounds > 0) end = std::max(end, come(token.depth) + before);
  return end;
}

double seconds_per_request(const PlanInput& in, const Side& prompt, const Side& token) {
  if (in.requests == 0) return std::max(seconds_per_request(prompt), seconds_per_request(token));
  double all = 0;
  if (prompt.pipelines > 0) {
    all = makespan_apart(in, prompt, token);
  } else {
    const SideTimes times = times_of(in, Role::colocated, token);
    all = makespan(token.depth, times.prompt, times.steps, most_microbatches(in, token));
  }
  return all / static_cast<double>(in.requests);
}

Split split_of(const PlanInput& in, Policy policy, const Side& prompt, const Side& token) {
  Split split{.policy = policy, .prompt = prompt, .token = token};
  split.machines = prompt.pipelines * prompt.depth + token.pipelines * token.depth;
  split.fits = token.fits && (prompt.pipelines == 0 || prompt.fits);
  if (!split.fits) return split;
  split.seconds_per_request = seconds_per_request(in, prompt, token);
  split.cost_per_request =
      in.machine_hour_price / 3600 * split.machines * split.seconds_per_request;
  return split;
}

// All pipelines of a role that are alike and take `machines` at most.
std::vector<Side> every_side(const PlanInput& in, Role role, std::uint32_t machines) {
  std::vector<Side> sides;
  for (std::uint32_t depth = 1; depth <= std::min(machines, in.layers); ++depth) {
    Side side = best_side(in, role, depth);
    for (std::uint32_t many = 1; many * depth <= machines; ++many) {
      // The best microbatch depends on how many there are of them, where requests are counted.
      if (in.requests > 0) side = best_side(in, role, depth, many);
      side.pipelines = many;
      sides.push_back(side);
    }
  }
  return sides;
}

}  // namespace

double seconds_per_request(const Side& side) {
  return side.pipelines == 0 ? 0 : side.seconds / side.microbatch / side.pipelines;
}

std::vector<Split> every_split(const PlanInput& input) {
  std::vector<Split> all;
  for (const Side& side : every_side(input, Role::colocated, input.machines)) {
    const Policy policy = side.pipelines == 1 ? Policy::colocated : Policy::colocated_dp;
    all.push_back(split_of(input, policy, {}, side));
  }
  const std::vector<Side> tokens = every_side(input, Role::token, input.machines - 1);
  for (const Side& prompt : every_side(input, Role::prompt, input.machines - 1)) {
    for (const Side& token : tokens) {
      if (prompt.pipelines * prompt.depth + token.pipelines * token.depth > input.machines) {
        continue;
      }
      const bool alone = prompt.pipelines == 1 && token.pipelines == 1;
      all.push_back(
          split_of(input, alone ? Policy::disaggregated : Policy::disaggregated_dp, prompt, token));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Split& a, const Split& b) { return a.policy < b.policy; });
  return all;
}

bool preferred(const Split& a, const Split& b) {
  const auto key = [](const Split& split) {
    const std::uint64_t lacks = split.fits ? 0 : std::max(split.prompt.bytes, split.token.bytes);
    return std::tuple(!split.fits, lacks, split.seconds_per_request, split.machines, split.policy);
  };
  return key(a) < key(b);
}

}  // namespace aqua::kv_stream
