// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/splits.hpp"

#include <algorithm>
#include <tuple>

#include "systems/kv_stream/decide/side.hpp"

namespace aqua::kv_stream {
namespace {

Split split_of(const PlanInput& in, Policy policy, const Side& prompt, const Side& token) {
  Split split{.policy = policy, .prompt = prompt, .token = token};
  split.machines = prompt.pipelines * prompt.depth + token.pipelines * token.depth;
  split.fits = token.fits && (prompt.pipelines == 0 || prompt.fits);
  if (!split.fits) return split;
  split.seconds_per_request = std::max(seconds_per_request(prompt), seconds_per_request(token));
  split.cost_per_request =
      in.machine_hour_price / 3600 * split.machines * split.seconds_per_request;
  return split;
}

// All pipelines of a role that are alike and take `machines` at most.
std::vector<Side> every_side(const PlanInput& in, Role role, std::uint32_t machines) {
  std::vector<Side> sides;
  for (std::uint32_t depth = 1; depth <= std::min(machines, in.layers); ++depth) {
    Side side = best_side(in, role, depth);
    for (side.pipelines = 1; side.pipelines * depth <= machines; ++side.pipelines) {
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
