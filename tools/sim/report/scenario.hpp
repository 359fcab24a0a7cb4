// SPDX-License-Identifier: Apache-2.0
// One comparison's ground: everything that all its policies share.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "aqua/prefix/prefix_index.hpp"
#include "aqua/schedule/options.hpp"
#include "tools/sim/cost/cost_model.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/input/policy_name.hpp"
#include "tools/sim/input/spec.hpp"
#include "tools/sim/input/workload.hpp"
#include "tools/sim/layers/link_change.hpp"
#include "tools/sim/lending/lent_change.hpp"

namespace aqua::sim {

struct Scenario {
  ModelSpec model;
  ServerSpec server;
  unsigned tensor_parallel = 1;
  // Options of the scheduler; blocks, costs and tier are filled in by resolve().
  schedule::SchedulerOptions scheduler{};
  // KV tokens that fit on the device; none: what the GPU has after the weights.
  std::optional<double> kv_tokens{};
  double lent_bytes = 40e9;  // by the neighbour, per GPU of the engine
  // Host memory for swapped KV, per GPU of the engine: also for what lies in lent memory, which
  // must be able to come back from there. None: no end of it.
  std::optional<double> host_bytes{};
  // auto is told how long each answer will be. Else, as an engine would tell it, the longest of all
  // as the limit of each.
  bool known_answers = false;
  // Later it lends another amount. By time; not with a prefix cache, whose blocks do not move.
  std::vector<LentChange> lent_changes{};
  std::uint64_t slab_bytes = 64 << 20;
  bool prefix_cache = false;
  double prefix_bytes = 1e12;  // of cached prefixes at most, wherever they lie, per GPU
  // Layers over frames under fcfs+pie, fcfs+pie+aqua and fcfs+ondemand, always the same. None: as
  // pie adapts, and 2 on demand.
  std::optional<double> expansion{};
  // What others leave of the link over which layers travel.
  std::vector<LinkChange> link_changes{};
  bool skip = true;
};

// What follows from a scenario, the same for each of its policies.
struct Ground {
  Scenario scenario;
  CostModel cost;
  LinkSpec nvlink, pcie;
  std::vector<Source> sources;
  double kv_bytes_per_token = 0;  // one GPU's share
  double kv_tokens = 0;
};

// failed_precondition when the weights leave no room; otherwise as CostModel::build.
[[nodiscard]] Result<Ground> resolve(const Scenario& scenario,
                                     const std::filesystem::path& profiles);

// Plays the workload under one policy. invalid_argument for changes of what is lent that cannot be,
// and for layers that cannot be swapped as the scenario says, or not beside a prefix cache;
// internal when the run cannot end (a policy that lets
// somebody wait for ever). `observe` gets the requests that have ended; `token`, of each token in
// time order, its request's index and its time (then no iterations are skipped).
[[nodiscard]] Result<RunOutcome> simulate(
    const Ground& ground, const PolicyName& policy, const Workload& workload,
    const std::function<void(std::size_t)>& observe = {},
    const std::function<void(std::uint32_t, Picos)>& token = {});

// The scheduler that simulate() uses.
[[nodiscard]] schedule::SchedulerOptions scheduler_options(const Ground& ground,
                                                           const PolicyName& policy);
// Links of the engine's GPU and its neighbour's, both in `network`.
struct PortLinks {
  LinkId nvlink_out, nvlink_in, pcie_out, pcie_in;
};
[[nodiscard]] PortLinks add_gpu(Network& network, const std::string& name, const Ground& ground);
// The same of so many GPUs together.
[[nodiscard]] PortLinks add_gpus(Network& network, const std::string& name, const Ground& ground,
                                 double count);
[[nodiscard]] Paging paging_of(const Ground& ground, PagingMethod method, const PortLinks& own,
                               const PortLinks& lender);

}  // namespace aqua::sim
