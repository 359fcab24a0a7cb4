// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_setup.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/input/spec_json.hpp"

namespace aqua::tool {

Result<sim::Ground> ground_of(const SimulateOptions& options) {
  sim::Scenario scenario;
  AQUA_ASSIGN(scenario.model, sim::load_model(options.model));
  AQUA_ASSIGN(scenario.server, sim::load_server(options.server));
  scenario.tensor_parallel = options.tensor_parallel;
  scenario.kv_tokens = options.kv_tokens;
  scenario.lent_bytes = options.lent_gb * 1e9;
  if (options.host_gb) scenario.host_bytes = *options.host_gb * 1e9;
  scenario.known_answers = options.known_answers;
  scenario.lent_changes = options.lent_changes;
  scenario.scheduler.budget_tokens = options.chunk;
  scenario.scheduler.slice_iterations = options.slice;
  scenario.scheduler.fcfs_on_slow_tier = options.fallback;
  // auto schedules for what goodput counts.
  scenario.scheduler.seconds_per_token = options.sla.tpot_s;
  scenario.prefix_cache = options.prefix_cache || options.workload == WorkloadKind::prefix;
  scenario.prefix_bytes = options.prefix_gb * 1e9;
  scenario.expansion = options.expansion;
  scenario.link_changes = options.link_changes;
  scenario.skip = options.skip;
  return sim::resolve(scenario, options.profiles);
}

Result<void> can_be_met(const sim::Sla& sla, const sim::Ground& ground) {
  const sim::CostModel& cost = ground.cost;
  const double first = sim::seconds(cost.prompt_alone(1, 1));
  if (sla.ttft_s < first) {
    return Error{
        Code::failed_precondition,
        concat("simulate: --sla: ", sla.ttft_s,
               " s for the first token cannot be met: that of a prompt of one token takes ", first,
               " s")};
  }
  const double next = sim::seconds(cost.prompt_alone(1, 2) - cost.prompt_alone(1, 1));
  if (sla.tpot_s >= next) return {};
  return Error{Code::failed_precondition,
               concat("simulate: --sla: ", sla.tpot_s,
                      " s a token cannot be met: a token of a single answer takes ", next, " s")};
}

std::string describe(const SimulateOptions& options, double rate) {
  switch (options.workload) {
    case WorkloadKind::poisson:
      return concat("Poisson arrivals at ", rate, " a second");
    case WorkloadKind::burst:
      return concat("burst of ", options.burst, " x ", rate, " a second for ",
                    options.burst_seconds, " s after ", options.quiet, " prompts");
    case WorkloadKind::prefix:
      return concat("a cached prompt of 100,000 tokens in one of ten requests, ", rate,
                    " a second");
    default:
      return options.speed == 1 ? "arrivals as in the trace"
                                : concat("arrivals as in the trace, ", options.speed, " x faster");
  }
}

sim::MakeWorkload workload_of(const SimulateOptions& options, const sim::Trace& trace,
                              double rate) {
  const std::uint64_t drawn = options.requests == 0 ? 300 : options.requests;
  return [options, &trace, rate, drawn](std::uint64_t seed) {
    switch (options.workload) {
      case WorkloadKind::poisson:
        return sim::poisson(trace, {.requests = drawn, .per_second = rate}, seed);
      case WorkloadKind::burst:
        return sim::burst(trace,
                          {.per_second = rate,
                           .factor = options.burst,
                           .seconds = options.burst_seconds,
                           .quiet_prompts = options.quiet,
                           .after = options.after},
                          seed);
      case WorkloadKind::prefix:
        return sim::prefix_caching(trace, {.requests = drawn, .per_second = rate}, seed);
      default:
        return sim::tiled(trace, options.requests, options.speed);
    }
  };
}

Result<double> stable_rate(const sim::Ground& ground, const sim::Trace& trace,
                           const sim::Sla& sla) {
  AQUA_ASSIGN(const sim::PolicyName fcfs, sim::parse_policy("fcfs"));
  const auto holds = [&](double rate) -> Result<bool> {
    AQUA_ASSIGN(const sim::Workload work,
                sim::poisson(trace, {.requests = 300, .per_second = rate}, 1));
    AQUA_ASSIGN(const sim::RunOutcome outcome, sim::simulate(ground, fcfs, work));
    const sim::Metrics metrics = sim::measure(outcome, sla);
    return metrics.completed > 0 && metrics.ttft_p99_s <= sla.ttft_s &&
           metrics.tpot_mean_s <= sla.tpot_s;
  };
  double low = 0.001;
  AQUA_ASSIGN(const bool at_all, holds(low));
  if (!at_all) {
    return Error{Code::failed_precondition,
                 "no stable rate: even a request by itself misses the SLA; give --rate or --sla"};
  }
  double high = 2 * low;
  while (high < 1e4) {
    AQUA_ASSIGN(const bool more, holds(high));
    if (!more) break;
    low = high;
    high *= 2;
  }
  while (high / low > 1.02) {
    const double middle = (low + high) / 2;
    AQUA_ASSIGN(const bool good, holds(middle));
    (good ? low : high) = middle;
  }
  return low;
}

}  // namespace aqua::tool
