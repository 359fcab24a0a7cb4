// SPDX-License-Identifier: Apache-2.0
// CopyMethod::automatic: a sensible way without any measurement. The planner, which has
// measured, names the method itself. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace aqua::device {

struct CopyFacts {
  std::size_t runs = 0;  // neighbours merged
  std::uint64_t bytes = 0;
  bool batched = false;  // the driver and the stream take one command for all
  bool kernel = false;   // the stream takes a kernel
};
[[nodiscard]] CopyMethod choose_method(const CopyFacts& facts) noexcept;

}  // namespace aqua::device
