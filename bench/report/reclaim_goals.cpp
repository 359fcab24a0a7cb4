// SPDX-License-Identifier: Apache-2.0
#include "report/reclaim_goals.hpp"

#include <optional>

#include "report/goal.hpp"

namespace aqua::bench {

nlohmann::json reclaim_goals(const ReclaimMedians& m) {
  std::optional<double> ratio;
  if (m.emulated || m.mib >= 4096) ratio = m.ratio();
  return nlohmann::json::array({judge("reclaim less 20 ms over copy, unmap and scrub alone",
                                      Bound::at_most, m.emulated ? 1.2 : 1.1, ratio),
                                judge("first slab, ms", Bound::at_most, 30, m.first_slab_ms)});
}

}  // namespace aqua::bench
