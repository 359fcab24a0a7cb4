// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/plan/plan_command.hpp"

#include <algorithm>
#include <memory>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/input/quoted_lengths.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/pipeline/serving.hpp"

namespace aqua::tool {
namespace {

constexpr std::uint64_t kMostPassTokens = 8'000'000;
constexpr std::uint64_t kSeed = 1;
constexpr double kBytesPerGb = 1e9;

struct Asked {
  sim::Trace trace{};
  sim::PipelineLengths lengths{};
  std::unique_ptr<sim::MachineGround> ground{};  // where the cost finds it
  std::unique_ptr<sim::PassCost> cost{};
  kv_stream::AwayMemory away{};  // none: no swapping
  std::uint64_t requests = 0;    // that come at once; 0: always enough
};

sim::PipelineLoad load_of(const PlanOptions& options, std::uint64_t requests,
                          sim::EarlyStops stops) {
  return {.requests = requests,
          .prompt_tokens = options.prompt,
          .context = options.context,
          .stops = stops};
}

// What all numbers of machines share.
Result<Asked> asked_by(const PlanOptions& options) {
  Asked asked;
  AQUA_ASSIGN(asked.trace, sim::trace_or_lengths(options.trace, options.lengths));
  AQUA_ASSIGN(const auto all,
              sim::pipeline_requests(
                  asked.trace,
                  load_of(options, asked.trace.requests.size(), sim::EarlyStops::request), kSeed));
  asked.lengths = sim::lengths_of(all);
  const sim::PipelineLoad load = load_of(options, 0, sim::EarlyStops::request);
  asked.requests = options.requests        ? *options.requests
                   : options.trace.empty() ? 0
                                           : sim::requests_that_fit(asked.trace, load).size();
  AQUA_ASSIGN(const sim::ModelSpec model, sim::load_model(options.model));
  AQUA_ASSIGN(const sim::ServerSpec server, sim::load_server(options.server));
  const std::uint64_t most = std::uint64_t{std::ranges::max(options.microbatches)} *
                             (std::uint64_t{asked.lengths.longest_prompt} + 1);
  if (most > kMostPassTokens) {
    return Error{Code::invalid_argument,
                 concat("plan: a microbatch may compute ", most, " tokens at once: at most ",
                        kMostPassTokens, "; smaller --microbatches, or a shorter --context")};
  }
  AQUA_ASSIGN(sim::MachineGround ground,
              sim::machine_ground(model, server,
                                  {.profiles = options.profiles,
                                   .max_pass_tokens = static_cast<std::uint32_t>(most)}));
  asked.ground = std::make_unique<sim::MachineGround>(std::move(ground));
  if (options.times.empty()) {
    asked.cost = std::make_unique<sim::ModelledCost>(asked.ground->cost);
  } else {
    asked.cost = std::make_unique<sim::GivenCost>(options.times);
    asked.ground->sources.clear();
    asked.ground->sources.push_back({"prompts and tokens", "given", "--times"});
  }
  // Where the machine's host memory is not known, swapping is left out unless it is asked for.
  if (options.swap == sim::Swapping::must || asked.ground->server.host_bytes > 0) {
    kv_stream::PlanInput input;
    AQUA_TRY(sim::allow_swapping(input, *asked.ground, options.profiles, options.swap,
                                 options.swap_lent_gb * kBytesPerGb));
    asked.away = input.away;
  }
  return asked;
}

Result<double> seconds_a_request(const PlanOptions& options, const Asked& asked,
                                 const sim::PipelineShape& shape, sim::EarlyStops stops) {
  AQUA_ASSIGN(const auto requests,
              sim::pipeline_requests(
                  asked.trace, load_of(options, simulated_requests(options, asked.requests), stops),
                  kSeed));
  AQUA_ASSIGN(const sim::PipelineOutcome outcome, sim::serve(shape, *asked.cost, requests));
  return sim::seconds(outcome.makespan) / static_cast<double>(requests.size());
}

// A plan that ran out of memory here would be an error of the planner's, and is never printed.
Result<SimulatedSplit> simulate_split(const PlanOptions& options, const Asked& asked,
                                      const kv_stream::PlanInput& input,
                                      const kv_stream::Split& split) {
  sim::PipelineShape shape = sim::shape_of(*asked.ground, input, split);
  SimulatedSplit simulated;
  AQUA_ASSIGN(simulated.equal, seconds_a_request(options, asked, shape, sim::EarlyStops::none));
  AQUA_ASSIGN(simulated.own, seconds_a_request(options, asked, shape, sim::EarlyStops::request));
  shape.ending = sim::Ending::refill;
  AQUA_ASSIGN(simulated.own_refilled,
              seconds_a_request(options, asked, shape, sim::EarlyStops::request));
  return simulated;
}

// The fastest split that fits and that swaps, or does not.
Result<std::optional<kv_stream::Split>> fastest(const kv_stream::PlanInput& input, bool swaps) {
  AQUA_ASSIGN(const auto splits, kv_stream::explain(input));
  const auto found = std::ranges::find_if(splits, [&](const kv_stream::Split& split) {
    return split.fits && split.token.swaps == swaps;
  });
  std::optional<kv_stream::Split> best;
  if (found != splits.end()) best = *found;
  return best;
}

Result<SwapVerdict> verdict_on_swapping(kv_stream::PlanInput input) {
  SwapVerdict verdict;
  input.only_swapped = true;
  AQUA_ASSIGN(verdict.swapped, fastest(input, true));
  input.only_swapped = false;
  input.away = {};
  AQUA_ASSIGN(verdict.kept, fastest(input, false));
  return verdict;
}

Result<PlannedMachines> plan_for(const PlanOptions& options, const Asked& asked,
                                 std::uint32_t machines) {
  PlannedMachines planned;
  planned.input = sim::plan_input(*asked.ground, asked.lengths, machines, options.microbatches);
  planned.input.stream_overhead = options.stream_overhead;
  planned.input.machine_hour_price = options.price > 0 ? options.price : 1;
  if (!options.times.empty()) planned.input.microbatches = options.times;
  for (kv_stream::MicrobatchCost& size : planned.input.microbatches) {
    size.stream_seconds = sim::stream_seconds(*asked.ground, asked.lengths, size.requests);
  }
  planned.input.requests = asked.requests;
  planned.input.away = asked.away;
  planned.input.only_swapped = options.swap == sim::Swapping::must;
  AQUA_ASSIGN(planned.plan, kv_stream::plan(planned.input));
  if (asked.away.host_bytes > 0) {
    AQUA_ASSIGN(planned.swap, verdict_on_swapping(planned.input));
  }
  for (std::size_t i = 0; i < planned.simulated.size(); ++i) {
    const auto& best = planned.plan.outcomes[i].best;
    if (!best) continue;
    AQUA_ASSIGN(planned.simulated[i], simulate_split(options, asked, planned.input, *best));
  }
  if (options.explain) {
    AQUA_ASSIGN(planned.splits, kv_stream::explain(planned.input));
  }
  return planned;
}

}  // namespace

std::uint64_t simulated_requests(const PlanOptions& options, std::uint64_t at_once) {
  if (at_once == 0) return options.simulated;
  return std::clamp(at_once, std::uint64_t{2}, options.simulated);
}

Result<std::string> run_plan(const PlanOptions& options) {
  AQUA_ASSIGN(const Asked asked, asked_by(options));
  std::vector<PlannedMachines> all;
  std::optional<Error> failed;
  for (const std::uint32_t machines : options.machines) {
    auto planned = plan_for(options, asked, machines);
    if (planned.ok()) {
      all.push_back(std::move(planned).value());
      continue;
    }
    // A sweep leaves out the numbers that are too small, unless none is left.
    failed = std::move(planned).error();
    if (!options.sweep || failed->code != Code::resource_exhausted) return *failed;
  }
  if (all.empty() && failed) return *failed;
  return options.json ? plan_json(options, *asked.ground, asked.lengths, all)
                      : plan_text(options, *asked.ground, asked.lengths, all);
}

}  // namespace aqua::tool
