// SPDX-License-Identifier: Apache-2.0
// A neighbour's change of mind: from `at` on it lends `bytes` of each GPU.
#pragma once

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

struct LentChange {
  Picos at = 0;
  double bytes = 0;
};

}  // namespace aqua::sim
