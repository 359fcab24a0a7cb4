// SPDX-License-Identifier: Apache-2.0
// What users are promised (Aqua, section 4.1, after Sarathi-Serve), and when a load keeps it.
#pragma once

#include <cmath>
#include <cstddef>

namespace aqua::profiler {

struct Sla {
  double ttft_s = 1;       // first token, counted from the scheduled arrival
  double tbt_s = 0.1;      // between two tokens of an answer
  double quantile = 0.99;  // of all requests, of all gaps: so many are under the limit
};

// So many of `n` values may reach the limit while their quantile (nearest rank) lies under it.
[[nodiscard]] inline std::size_t allowed_over(std::size_t n, double quantile) {
  // Less a trifle: 0.99 * 300 is 297, whatever its last bit says.
  const double rank = std::ceil(quantile * static_cast<double>(n) - 1e-9);
  return n - static_cast<std::size_t>(rank);
}

}  // namespace aqua::profiler
