// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/fleet_engines.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::sim {

Result<std::unique_ptr<FleetEngines>> FleetEngines::create(const Ground& ground,
                                                           const FleetShape& shape,
                                                           RequestTable& table, Network& network,
                                                           SlabMarket* market,
                                                           const EngineOptions& options) {
  std::unique_ptr<FleetEngines> made(new FleetEngines(ground));
  AQUA_ASSIGN(const PolicyName policy, parse_policy(market == nullptr ? "fcfs" : "fcfs+aqua"));
  const PortLinks lenders = add_gpus(network, "lenders", ground, shape.engines);
  made->all_.resize(shape.engines);
  for (std::size_t k = 0; k < shape.engines; ++k) {
    FleetEngine& one = made->all_[k];
    one.server = k / shape.engines_per_server;
    if (one.server == made->networks_.size()) {
      const double rate = shape.network_bytes_per_second;
      made->networks_.push_back({network.add_link(concat("server ", one.server, " out"), rate),
                                 network.add_link(concat("server ", one.server, " in"), rate)});
    }
    one.links = add_gpu(network, concat("engine ", k), ground);
    if (market != nullptr) one.swap = SwapSpace(&market->borrower(k));
    AQUA_ASSIGN(one.scheduler,
                schedule::make_scheduler(policy.scheduler, scheduler_options(ground, policy)));
    EngineOptions its = options;
    its.paging = paging_of(ground, policy.method, one.links, lenders);
    its.kv_bytes_per_token = ground.kv_bytes_per_token;
    its.block_tokens = ground.scenario.server.kv_block_tokens;
    its.skip = ground.scenario.skip;
    one.engine = std::make_unique<Engine>(table, ground.cost, *one.scheduler, one.swap, network,
                                          nullptr, its);
  }
  return made;
}

Network::Transfer FleetEngines::transfer(std::size_t from, std::size_t to, double bytes) const {
  const FleetEngine &source = all_[from], &target = all_[to];
  Network::Transfer transfer{.bytes = bytes, .delay = picos(ground_.nvlink.latency_s)};
  transfer.links = {source.links.nvlink_out, target.links.nvlink_in};
  if (source.server == target.server) return transfer;
  transfer.links = {source.links.pcie_out, networks_[source.server].out,
                    networks_[target.server].in, target.links.pcie_in};
  return transfer;
}

}  // namespace aqua::sim
