// SPDX-License-Identifier: Apache-2.0
// One workload on a fleet of engines that a packer rules.
#pragma once

#include <functional>

#include "tools/sim/fleet/fleet_shape.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::sim {

// Each engine is one of `ground`. invalid_argument: as packing::make_packer, and no engines.
// internal: the run cannot end. `observe` gets the requests that are over.
[[nodiscard]] Result<FleetOutcome> serve_fleet(
    const Ground& ground, const Workload& workload, const FleetShape& shape, const Sla& sla,
    const std::function<void(std::size_t)>& observe = {});

}  // namespace aqua::sim
