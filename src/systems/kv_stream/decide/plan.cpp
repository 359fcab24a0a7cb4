// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/decide/check.hpp"
#include "systems/kv_stream/decide/side.hpp"
#include "systems/kv_stream/decide/splits.hpp"

namespace aqua::kv_stream {
namespace {

const MicrobatchCost& cost_of(const PlanInput& in, std::uint32_t requests) {
  return *std::find_if(in.microbatches.begin(), in.microbatches.end(),
                       [&](const MicrobatchCost& each) { return each.requests == requests; });
}

// The least host memory with which a pipeline of this depth fits, all else equal. 0: none does.
std::uint64_t least_host_bytes(const PlanInput& in, std::uint32_t depth) {
  std::uint64_t least = 0;
  PlanInput rich = in;
  rich.away.host_bytes = UINT64_MAX;
  for (const MicrobatchCost& cost : in.microbatches) {
    rich.microbatches = {cost};
    const Side side = best_side(rich, Role::colocated, depth);
    if (side.fits && (least == 0 || side.host_bytes < least)) least = side.host_bytes;
  }
  return least;
}

// A colocated pipeline holds no more than the token pipeline of its depth, so it decides what fits.
Needs needs_of(const PlanInput& in) {
  Needs needs;
  std::uint64_t microbatch = 0;
  const auto lower = [](std::uint64_t& least, std::uint64_t bytes) {
    if (bytes > 0 && (least == 0 || bytes < least)) least = bytes;
  };
  for (std::uint32_t depth = 1; depth <= std::min(in.layers, kMostMachines); ++depth) {
    const Side side = best_side(in, Role::colocated, depth);
    if (side.fits && needs.machines == 0) needs.machines = depth;
    if (depth > in.machines) continue;
    // The fastest of the sides that fit was chosen, which is not the smallest: ask with no memory.
    PlanInput poor = in;
    poor.machine_bytes = 0;
    const Side smallest = best_side(poor, Role::colocated, depth);
    if (!lacks_host(in, smallest)) lower(needs.machine_bytes, smallest.bytes);
    if (in.only_swapped) lower(needs.host_bytes, least_host_bytes(in, depth));
    microbatch = std::max(microbatch, largest_microbatch(in, depth));
  }
  needs.microbatch = static_cast<std::uint32_t>(std::min<std::uint64_t>(microbatch, UINT32_MAX));
  return needs;
}

Error nothing_fits(const char* call, const PlanInput& in) {
  const Needs needs = needs_of(in);
  std::string would;
  const auto add = [&](std::uint64_t number, const auto&... change) {
    if (number > 0) would += concat(would.empty() ? "" : ", or ", change...);
  };
  add(needs.machine_bytes, "machine_bytes of ", needs.machine_bytes);
  add(needs.machines, needs.machines, " machines");
  add(needs.microbatch, "a microbatch of ", needs.microbatch);
  add(needs.host_bytes, "away.host_bytes of ", needs.host_bytes);
  return Error{Code::resource_exhausted, concat(call, ": no pipeline on ", in.machines,
                                                in.machines == 1 ? " machine of " : " machines of ",
                                                in.machine_bytes, " bytes holds weights and KV of ",
                                                in.layers, " layers. What would do: ", would)};
}

std::string lacks(const PlanInput& in, const Split& split) {
  std::string all;
  for (const Side* side : {&split.prompt, &split.token}) {
    if (side->pipelines == 0 || side->fits) continue;
    const bool apart = split.prompt.pipelines > 0;
    const std::string machine = concat(!apart                  ? ""
                                       : side == &split.prompt ? "prompt "
                                                               : "token ",
                                       "machine");
    const auto add = [&](std::uint64_t has, std::uint64_t wants, const char* memory) {
      if (wants <= has) return;
      all += concat(all.empty() ? "does not fit: " : ", ", wants - has, " bytes too many ", memory,
                    machine);
    };
    add(in.machine_bytes, side->bytes, "on a ");
    add(in.away.host_bytes, side->host_bytes, "in the host memory of a ");
  }
  return all;
}

std::string slower(const Split& split, const Split& best) {
  constexpr double kAsFast = 0.995;
  const double share = best.seconds_per_request / split.seconds_per_request;
  if (share > kAsFast) {
    return concat("does not pay: as fast within 0.5 %, with ", split.machines, " machines for ",
                  best.machines);
  }
  std::string said =
      concat("does not pay: ", std::round(share * 100) / 100, " of the plan's throughput");
  if (split.prompt.pipelines == 0) return said;
  const bool prompts = seconds_per_request(split.prompt) > seconds_per_request(split.token);
  return said + (prompts ? "; prompts are the slower side" : "; tokens are the slower side");
}

std::string why_none(const PlanInput& in, Policy policy, const Split* least) {
  if (least != nullptr) return lacks(in, *least);
  return concat("needs at least ", policy == Policy::disaggregated_dp ? 3 : 2, " machines");
}

}  // namespace

Result<Plan> plan(const PlanInput& input) {
  AQUA_TRY(check("plan", input));
  const std::vector<Split> all = every_split(input);
  const Split& best = *std::min_element(all.begin(), all.end(), preferred);
  if (!best.fits) return nothing_fits("plan", input);
  Plan plan{.best = best};
  for (std::size_t i = 0; i < plan.outcomes.size(); ++i) {
    const auto policy = static_cast<Policy>(i);
    const Split* of_policy = nullptr;
    for (const Split& split : all) {
      if (split.policy != policy) continue;
      if (of_policy == nullptr || preferred(split, *of_policy)) of_policy = &split;
    }
    Outcome& outcome = plan.outcomes[i];
    if (of_policy == nullptr || !of_policy->fits) {
      outcome.reason = why_none(input, policy, of_policy);
      continue;
    }
    outcome.best = *of_policy;
    if (policy != best.policy) outcome.reason = slower(*of_policy, best);
  }
  const MicrobatchCost& cost = cost_of(input, best.token.microbatch);
  plan.ideal = ideal_split(input.machines, cost.prompt_seconds, cost.token_seconds,
                           input.new_tokens, input.stream_overhead);
  return plan;
}

Result<std::vector<Split>> explain(const PlanInput& input) {
  AQUA_TRY(check("explain", input));
  std::vector<Split> all = every_split(input);
  std::stable_sort(all.begin(), all.end(), preferred);
  const bool some = all.front().fits;
  for (std::size_t i = some ? 1 : 0; i < all.size(); ++i) {
    all[i].lost = all[i].fits ? slower(all[i], all.front()) : lacks(input, all[i]);
  }
  return all;
}

Result<Needs> needs(const PlanInput& input) {
  AQUA_TRY(check("needs", input));
  return needs_of(input);
}

std::string describe(const Split& split) {
  const auto of = [](const Side& side) {
    return concat(side.pipelines, " x ", side.depth, side.depth == 1 ? " stage of " : " stages of ",
                  side.microbatch, side.microbatch == 1 ? " request" : " requests",
                  side.swaps ? ", swapped" : "");
  };
  if (split.prompt.pipelines == 0) return of(split.token);
  return concat("prompts ", of(split.prompt), ", tokens ", of(split.token));
}

}  // namespace aqua::kv_stream
