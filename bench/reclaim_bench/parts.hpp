// SPDX-License-Identifier: Apache-2.0
// What a reclaim consists of, each part alone: the limit that it is held against.
#pragma once

#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "reclaim_bench/options.hpp"

namespace aqua::bench {

// Milliseconds, by round: copying the bytes from the device to host memory, unmapping as many
// slabs, scrubbing them.
struct Parts {
  std::vector<double> copy, unmap, scrub;
  std::string device, driver;  // that they were measured on; no driver below an emulated one
};

// On a device of its own. unavailable or unimplemented: there is no such GPU here.
[[nodiscard]] Result<Parts> measure_parts(const ReclaimOptions& options);

}  // namespace aqua::bench
