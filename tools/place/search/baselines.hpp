// SPDX-License-Identifier: Apache-2.0
// What the placer is compared with: placements that do not look at memory.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "tools/place/model/cluster.hpp"

namespace aqua::place {

// Models in the order given, each on the first server with room.
[[nodiscard]] std::optional<Assignment> first_fit(const Cluster& cluster);
// Models in random order, each on a random server with room; the large ones first, or they would
// rarely fit.
[[nodiscard]] std::optional<Assignment> at_random(const Cluster& cluster, unsigned seed);

}  // namespace aqua::place
