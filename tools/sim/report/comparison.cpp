// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/report/comparison.hpp"

#include "base/try.hpp"

namespace aqua::sim {

Result<Comparison> compare(const Ground& ground, const std::vector<PolicyName>& policies,
                           const std::vector<std::uint64_t>& seeds, const Sla& sla,
                           const MakeWorkload& make, const Progress& progress) {
  Comparison all{.ground = ground, .sla = sla, .workload = {}, .seeds = seeds, .runs = {}};
  for (const PolicyName& policy : policies) {
    all.runs.push_back({.policy = policy, .outcome = {}, .metrics = {}});
  }
  for (const std::uint64_t seed : seeds) {
    AQUA_ASSIGN(const Workload workload, make(seed));
    const bool first = seed == seeds.front();
    if (first) {
      all.requests = workload.requests.size();
      all.redirected = workload.redirected;
    }
    for (PolicyRun& run : all.runs) {
      const auto observe = [&](std::size_t ended) {
        if (progress) progress(run.policy.name, seed, ended, workload.requests.size());
      };
      AQUA_ASSIGN(RunOutcome outcome, simulate(ground, run.policy, workload, observe));
      run.metrics.push_back(measure(outcome, sla));
      if (first) run.outcome = std::move(outcome);
    }
  }
  return all;
}

std::vector<double> column(const PolicyRun& run, double Metrics::*field) {
  std::vector<double> values;
  for (const Metrics& metrics : run.metrics) values.push_back(metrics.*field);
  return values;
}

}  // namespace aqua::sim
