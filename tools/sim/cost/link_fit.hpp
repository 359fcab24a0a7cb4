// SPDX-License-Identifier: Apache-2.0
// A link as latency + bytes / bandwidth, fitted to measured transfers.
//
// The fit is least squares of relative errors, so that small and large transfers count alike;
// what it misses is reported. Every second size is fitted, the others are the check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::sim {

struct MeasuredTransfer {
  double bytes = 0;
  double seconds = 0;
};

struct LinkFit {
  double latency_s = 0;
  double bytes_per_second = 0;
  std::size_t fitted = 0;
  std::size_t checked = 0;
  // |model / measured - 1| over the transfers that were not fitted.
  double mean_error = 0;
  double p90_error = 0;

  [[nodiscard]] double seconds(double bytes) const { return latency_s + bytes / bytes_per_second; }
};

// Rows of a send_recv file (vidur's columns) with this many devices per node: 2 is over NVLink,
// 1 between hosts. The median, in seconds. invalid_argument names line and column.
[[nodiscard]] Result<std::vector<MeasuredTransfer>> read_send_recv(std::string_view text,
                                                                   unsigned devices_per_node);
// failed_precondition with fewer than four transfers, or when they give no positive bandwidth.
[[nodiscard]] Result<LinkFit> fit_link(std::vector<MeasuredTransfer> transfers);

}  // namespace aqua::sim
