// SPDX-License-Identifier: Apache-2.0
// What a device says really ran, as the member "ran" of a benchmark's row: what a row asked for is
// not what it measured where these tell otherwise.
#pragma once

#include <nlohmann/json.hpp>

#include "device/device.hpp"

namespace aqua::bench {

[[nodiscard]] inline nlohmann::json to_json(const device::CopyCounts& ran) {
  return {{"kernel", ran.kernel},           {"batched", ran.batched},          {"each", ran.each},
          {"unsupported", ran.unsupported}, {"unreachable", ran.unreachable},  {"full", ran.full},
          {"refused", ran.refused},         {"batches_hang", ran.batches_hang}};
}

}  // namespace aqua::bench
