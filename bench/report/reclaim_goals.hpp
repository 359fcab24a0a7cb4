// SPDX-License-Identifier: Apache-2.0
// From reclaim_bench's medians to its goals. Pure.
//
// A GPU's reclaim is judged by 4 GiB or more; of less, its ratio is left unmeasured.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

namespace aqua::bench {

struct ReclaimMedians {
  bool emulated = true;
  std::size_t mib = 0;                             // reclaimed
  double all_ms = 0, first_slab_ms = 0;            // from the call
  double copy_ms = 0, unmap_ms = 0, scrub_ms = 0;  // each alone
  // What is compared with the parts: 20 ms are free.
  [[nodiscard]] double ratio() const { return (all_ms - 20) / (copy_ms + unmap_ms + scrub_ms); }
};

[[nodiscard]] nlohmann::json reclaim_goals(const ReclaimMedians& medians);

}  // namespace aqua::bench
