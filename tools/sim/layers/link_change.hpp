// SPDX-License-Identifier: Apache-2.0
// Others use the link over which layers travel: from `at` on they leave `share` of its bandwidth.
#pragma once

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

struct LinkChange {
  Picos at = 0;
  double share = 1;  // above 0
};

}  // namespace aqua::sim
