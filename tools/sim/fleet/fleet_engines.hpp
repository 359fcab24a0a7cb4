// SPDX-License-Identifier: Apache-2.0
// The engines of a fleet, and the links between them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tools/sim/engine/engine.hpp"
#include "tools/sim/fleet/fleet_shape.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::sim {

// What packers call an engine: numbers from 1 on, as 0 names none.
[[nodiscard]] inline packing::EngineId engine_id(std::size_t engine) {
  return packing::EngineId{engine + 1};
}
[[nodiscard]] inline std::size_t place_of(packing::EngineId id) {
  return static_cast<std::size_t>(id) - 1;
}

struct FleetEngine {
  std::unique_ptr<schedule::Scheduler> scheduler;
  SwapSpace swap{nullptr};
  std::unique_ptr<Engine> engine{};
  PortLinks links{};
  std::size_t server = 0;
};

class FleetEngines {
 public:
  // Every engine runs fcfs and pages to its host, and before that to what `market` lends, if that
  // is not null; it then has a borrower for each of them. Of `options` only whom they tell and
  // may_skip are read. All but these must outlive it. Fails as make_scheduler.
  [[nodiscard]] static Result<std::unique_ptr<FleetEngines>> create(
      const Ground& ground, const FleetShape& shape, RequestTable& table, Network& network,
      SlabMarket* market, const EngineOptions& options);

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Engine& operator[](std::size_t engine) { return *all_[engine].engine; }
  [[nodiscard]] std::size_t server_of(std::size_t engine) const { return all_[engine].server; }
  [[nodiscard]] std::size_t servers() const noexcept { return networks_.size(); }

  // KV of so many bytes, over NVLink or between servers.
  [[nodiscard]] Network::Transfer transfer(std::size_t from, std::size_t to, double bytes) const;

 private:
  struct ServerLinks {
    LinkId out, in;
  };
  explicit FleetEngines(const Ground& ground) : ground_(ground) {}

  const Ground& ground_;
  std::vector<FleetEngine> all_;
  std::vector<ServerLinks> networks_;
};

}  // namespace aqua::sim
