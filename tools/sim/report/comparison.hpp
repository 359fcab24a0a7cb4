// SPDX-License-Identifier: Apache-2.0
// Several policies on one ground and the same workloads, one workload a seed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/sim/report/metrics.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::sim {

struct PolicyRun {
  PolicyName policy;
  RunOutcome outcome;            // of the first seed
  std::vector<Metrics> metrics;  // one a seed
};

struct Comparison {
  Ground ground;
  Sla sla;
  std::string workload;  // for people
  std::vector<std::uint64_t> seeds;
  std::uint64_t requests = 0;  // of the first seed
  std::uint64_t redirected = 0;
  std::uint64_t lifted = 0;  // lengths of 0 in the trace, read as 1
  std::vector<PolicyRun> runs;
};

using MakeWorkload = std::function<Result<Workload>(std::uint64_t seed)>;
// Which policy, which seed, requests ended of how many.
using Progress =
    std::function<void(const std::string& policy, std::uint64_t seed, std::size_t, std::size_t)>;

[[nodiscard]] Result<Comparison> compare(const Ground& ground,
                                         const std::vector<PolicyName>& policies,
                                         const std::vector<std::uint64_t>& seeds, const Sla& sla,
                                         const MakeWorkload& make, const Progress& progress);

// A figure of each seed.
[[nodiscard]] std::vector<double> column(const PolicyRun& run, double Metrics::*field);

}  // namespace aqua::sim
