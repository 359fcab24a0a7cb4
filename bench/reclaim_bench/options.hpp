// SPDX-License-Identifier: Apache-2.0
// What reclaim_bench is asked.
#pragma once

#include <cstddef>
#include <string>

#include "aqua/types.hpp"

namespace aqua::bench {

using namespace aqua::literals;

inline constexpr std::size_t kSlabBytes = 64_MiB;

struct ReclaimOptions {
  std::size_t mib = 1024;
  unsigned rounds = 5;
  std::string device = "emu:0", consumer = "emu:1";
  std::string coordinator = "./aqua-coordinator";
  std::string json{};

  [[nodiscard]] std::size_t bytes() const { return mib << 20; }
  [[nodiscard]] bool emulated() const { return device.starts_with("emu:"); }
  [[nodiscard]] bool one_gpu() const { return device == consumer; }
};

}  // namespace aqua::bench
