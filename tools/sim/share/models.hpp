// SPDX-License-Identifier: Apache-2.0
// Several models on one GPU, some of them popular and others not, and who is popular changes: what
// their users feel under each way to share the GPU.
//
// Every model has an engine of its own with the scheduler fcfs, and a part of the KV cache's
// memory: with by_load what SmShares says, else equal parts. All are of the same kind, so that only
// popularity tells them apart. Model i is asked for in proportion to (i + 1)^-skew; at half time
// the order turns round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sim/report/metrics.hpp"
#include "tools/sim/report/scenario.hpp"
#include "tools/sim/share/shared_gpu.hpp"

namespace aqua::sim {

struct ModelsShape {
  unsigned models = 3;
  double skew = 1.5;
  double per_second = 4;  // requests for all of them
  double seconds = 600;
  double rebalance_s = 1;  // by_load decides so often, by what the last ten of these were like
  SharingProfile profile{};
};

struct WayToShare {
  std::string name;
  GpuSharing how = GpuSharing::temporal;
  std::vector<double> shares{};  // at the beginning; of temporal only their number counts
};
// temporal; fixed, in equal parts; fixed, by the popularity of the first half; by load.
[[nodiscard]] std::vector<WayToShare> ways_to_share(const ModelsShape& shape);

struct ModelsOutcome {
  std::vector<Metrics> models{};  // the most popular of the first half first
  double within_sla = 0;          // share of all requests
  std::uint64_t requests = 0;
  std::uint64_t changes = 0;  // of shares
};

// The KV cache of all models is what the scenario says, or else what their weights leave.
// failed_precondition: they leave nothing. internal: a run cannot end.
[[nodiscard]] Result<ModelsOutcome> share_gpu(const Ground& ground, const Trace& trace,
                                              const ModelsShape& shape, const WayToShare& way,
                                              const Sla& sla, std::uint64_t seed);

}  // namespace aqua::sim
