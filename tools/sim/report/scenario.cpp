// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/report/scenario.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/layers/swapped_layers.hpp"
#include "tools/sim/lending/lent_schedule.hpp"

namespace aqua::sim {

Result<Ground> resolve(const Scenario& scenario, const std::filesystem::path& profiles) {
  const unsigned tp = scenario.tensor_parallel;
  AQUA_ASSIGN(CostModel cost,
              CostModel::build(scenario.model, scenario.server,
                               {.profiles = profiles,
                                .tensor_parallel = tp,
                                .max_batch_tokens = scenario.scheduler.budget_tokens}));
  Ground ground{
      .scenario = scenario, .cost = std::move(cost), .nvlink = {}, .pcie = {}, .sources = {}};
  ground.sources = ground.cost.sources();
  std::vector<Source> again;
  AQUA_ASSIGN(ground.nvlink, resolve_link(scenario.server.nvlink, "NVLink", profiles, again));
  AQUA_ASSIGN(ground.pcie,
              resolve_link(scenario.server.pcie, "host link", profiles, ground.sources));
  ground.kv_bytes_per_token = scenario.model.kv_bytes_per_token() / tp;
  const double room = scenario.server.gpu.memory_bytes * scenario.server.usable_memory -
                      scenario.model.weight_bytes() / tp;
  ground.kv_tokens = scenario.kv_tokens.value_or(room / ground.kv_bytes_per_token);
  if (ground.kv_tokens < 2.0 * scenario.server.kv_block_tokens) {
    return Error{Code::failed_precondition,
                 concat(scenario.model.name, " on ", tp, " x ", scenario.server.gpu.name,
                        " leaves room for ", std::max(0.0, std::floor(ground.kv_tokens)),
                        " tokens of KV cache: use more GPUs or give the capacity")};
  }
  return ground;
}

namespace {

// What a block costs among many that are copied together: of windows only their bytes.
double block_seconds(const Ground& ground, PagingMethod method, const LinkSpec& link) {
  const double bytes = ground.kv_bytes_per_token * ground.scenario.server.kv_block_tokens;
  const double copies = method == PagingMethod::per_block ? 2.0 * ground.scenario.model.layers : 0;
  return copies * link.latency_s + link.one_way_seconds(bytes);
}

}  // namespace

schedule::SchedulerOptions scheduler_options(const Ground& ground, const PolicyName& policy) {
  const std::uint32_t block = ground.scenario.server.kv_block_tokens;
  schedule::SchedulerOptions options = ground.scenario.scheduler;
  options.block_tokens = block;
  options.device_blocks = static_cast<std::uint32_t>(ground.kv_tokens / block);
  const bool admission_only = policy.scheduler == "fcfs" || policy.scheduler == "vtc";
  // vLLM's choice for those that preempt only for want of memory; fair ones swap (section 7).
  options.preempt_by = policy.recompute ? schedule::PreemptBy::recompute
                       : admission_only ? schedule::PreemptBy::cheaper
                                        : schedule::PreemptBy::swap;
  const std::uint32_t chunk = options.budget_tokens;
  options.recompute_seconds_per_token = seconds(ground.cost.linear(chunk)) / chunk;
  const LinkSpec& link = policy.tier == Tier::peer ? ground.nvlink : ground.pcie;
  options.swap_seconds_per_block = policy.method == PagingMethod::free
                                       ? 0
                                       : link.one_way_seconds(ground.kv_bytes_per_token * block);
  if (policy.method != PagingMethod::free) {
    options.peer_seconds_per_block = block_seconds(ground, policy.method, ground.nvlink);
    options.host_seconds_per_block = block_seconds(ground, policy.method, ground.pcie);
    if (const auto host = ground.scenario.host_bytes) {
      options.swap_blocks =
          static_cast<std::uint32_t>(std::min(*host / (ground.kv_bytes_per_token * block), 4e9));
    }
  }
  options.swap_tier = policy.tier;
  // Compared with what it pages to; only the peer has something better to fall back from.
  options.fcfs_on_slow_tier =
      ground.scenario.scheduler.fcfs_on_slow_tier && policy.tier == Tier::peer;
  return options;
}

PortLinks add_gpu(Network& network, const std::string& name, const Ground& ground) {
  return add_gpus(network, name, ground, 1);
}

PortLinks add_gpus(Network& network, const std::string& name, const Ground& ground, double count) {
  const LinkSpec &nvlink = ground.nvlink, &pcie = ground.pcie;
  return {.nvlink_out = network.add_link(name + " NVLink out", count * nvlink.out_bytes_per_second),
          .nvlink_in = network.add_link(name + " NVLink in", count * nvlink.in_bytes_per_second),
          .pcie_out = network.add_link(name + " PCIe out", count * pcie.out_bytes_per_second),
          .pcie_in = network.add_link(name + " PCIe in", count * pcie.in_bytes_per_second)};
}

Paging paging_of(const Ground& ground, PagingMethod method, const PortLinks& own,
                 const PortLinks& lender) {
  const ServerSpec& server = ground.scenario.server;
  Paging paging{
      .method = method,
      .peer = {.latency_s = ground.nvlink.latency_s,
               .out = {own.nvlink_out, lender.nvlink_in},
               .in = {own.nvlink_in, lender.nvlink_out}},
      .host = {.latency_s = ground.pcie.latency_s, .out = {own.pcie_out}, .in = {own.pcie_in}},
      .lender_host = {.latency_s = ground.pcie.latency_s,
                      .out = {lender.pcie_out},
                      .in = {lender.pcie_in}},
      .window_bytes = server.staging_bytes,
      .hbm_bytes_per_second = ground.cost.roof().bytes_per_second};
  paging.copies_per_kv_block = 2.0 * ground.scenario.model.layers;
  paging.kv_block_bytes = ground.kv_bytes_per_token * server.kv_block_tokens;
  return paging;
}

namespace {

// What auto is told of every answer: as an engine knows its limit and no more, the longest of all.
std::uint32_t answer_limit(const Scenario& scenario, const PolicyName& policy,
                           const Workload& workload) {
  std::uint32_t longest = 0;
  if (policy.scheduler != "auto" || scenario.known_answers) return longest;
  for (const TraceRequest& request : workload.requests) {
    longest = std::max(longest, request.output_tokens);
  }
  return longest;
}

Result<std::unique_ptr<PrefixStore>> prefix_store(const Ground& ground, const Workload& workload) {
  if (!ground.scenario.prefix_cache) return std::unique_ptr<PrefixStore>();
  const CostModel& cost = ground.cost;
  const std::uint32_t block = workload.hash_block_tokens;
  const double bytes = ground.kv_bytes_per_token * block;
  const double pair = seconds(cost.prefill_attention(1, 1'000'000) - cost.prefill_attention(1, 0));
  prefix::PrefixOptions options{.block_tokens = block};
  options.costs = {
      .compute_per_token = seconds(cost.linear(cost.max_batch_tokens())) / cost.max_batch_tokens(),
      .attention_per_token_pair = pair / 1e6,
      .fetch_per_block = {0, bytes / ground.nvlink.between_bytes_per_second(),
                          bytes / ground.pcie.in_bytes_per_second}};
  options.capacity_blocks = static_cast<std::size_t>(ground.scenario.prefix_bytes / bytes);
  AQUA_ASSIGN(prefix::PrefixIndex index, prefix::PrefixIndex::create(options));
  return std::make_unique<PrefixStore>(std::move(index), ground.kv_bytes_per_token);
}

Result<std::unique_ptr<SwappedLayers>> swapped_layers(const Ground& ground,
                                                      const PolicyName& policy, SwapSpace& swap) {
  const Scenario& scenario = ground.scenario;
  if (policy.layers == LayerMode::stay) return std::unique_ptr<SwappedLayers>();
  if (scenario.prefix_cache)
    return Error{Code::invalid_argument,
                 concat(policy.name, ": layers are not swapped beside a prefix cache")};
  const std::uint32_t block = scenario.server.kv_block_tokens;
  AQUA_ASSIGN(SwappedLayers layers,
              SwappedLayers::create(
                  {.layers = scenario.model.layers,
                   .blocks = scheduler_options(ground, policy).device_blocks,
                   .block_tokens = block,
                   .layer_block_bytes = ground.kv_bytes_per_token * block / scenario.model.layers,
                   .on_demand = policy.layers == LayerMode::on_demand,
                   .expansion = scenario.expansion,
                   .peer = ground.nvlink,
                   .host = ground.pcie,
                   .hbm_bytes_per_second = ground.cost.roof().bytes_per_second,
                   .link_changes = scenario.link_changes},
                  swap));
  return std::make_unique<SwappedLayers>(std::move(layers));
}

Result<void> can_change(const Scenario& scenario) {
  const std::vector<LentChange>& changes = scenario.lent_changes;
  const auto earlier = [](const LentChange& a, const LentChange& b) { return a.at < b.at; };
  if (!std::is_sorted(changes.begin(), changes.end(), earlier))
    return Error{Code::invalid_argument, "changes of what is lent are not in order of time"};
  if (!changes.empty() && scenario.prefix_cache)
    return Error{Code::invalid_argument,
                 "what is lent cannot change beside a prefix cache: its blocks do not move"};
  return {};
}

}  // namespace

Result<RunOutcome> simulate(const Ground& ground, const PolicyName& policy,
                            const Workload& workload,
                            const std::function<void(std::size_t)>& observe,
                            const std::function<void(std::uint32_t, Picos)>& token) {
  AQUA_ASSIGN(const auto scheduler,
              schedule::make_scheduler(policy.scheduler, scheduler_options(ground, policy)));
  AQUA_ASSIGN(const auto prefixes, prefix_store(ground, workload));
  AQUA_TRY(can_change(ground.scenario));
  Network network;
  const PortLinks own = add_gpu(network, "engine", ground);
  const PortLinks lender = add_gpu(network, "lender", ground);
  SlabMarket market(ground.scenario.slab_bytes, ground.cost.roof().bytes_per_second);
  const bool peer = policy.tier == Tier::peer;
  // Free pages go wherever there is no end of room.
  const double lent = policy.method == PagingMethod::free ? 4e12 : ground.scenario.lent_bytes;
  if (peer) (void)market.offer(lent, 0);
  SwapSpace swap(peer ? &market.borrower() : nullptr);
  AQUA_ASSIGN(const auto layers, swapped_layers(ground, policy, swap));
  EngineOptions options{.paging = paging_of(ground, policy.method, own, lender),
                        .kv_bytes_per_token = ground.kv_bytes_per_token,
                        .block_tokens = ground.scenario.server.kv_block_tokens,
                        .skip = ground.scenario.skip && !token,
                        .answer_limit = answer_limit(ground.scenario, policy, workload),
                        .layers = layers.get(),
                        .token = token};
  RequestTable table(workload);
  Engine engine(table, ground.cost, *scheduler, swap, network, prefixes.get(), options);
  Arrivals arrivals(workload, engine);
  const auto progress = [&](Picos) {
    if (observe) observe(engine.ended());
  };
  LentSchedule schedule(ground.scenario.lent_changes, market, engine);
  std::vector<Actor*> actors{&arrivals, &engine};
  if (peer && policy.method != PagingMethod::free) actors.push_back(&schedule);
  if (!run_world(network, actors, progress)) {
    return Error{Code::internal,
                 concat(policy.name, ": ", workload.requests.size() - engine.ended(),
                        " requests wait for ever")};
  }
  return std::move(engine).outcome();
}

}  // namespace aqua::sim
