// SPDX-License-Identifier: Apache-2.0
// A runtime on an emulated GPU as small as a test wants it, without a coordinator unless it says
// so.
#pragma once

#include <cstddef>
#include <string>

#include "aqua/runtime.hpp"
#include "tests/base/must.hpp"

namespace aqua::test {

// `hostile`: as EmulatedGpuOptions::hostile.
[[nodiscard]] inline Runtime open_emulated(std::size_t total_bytes, std::size_t host_bytes,
                                           bool hostile = false,
                                           const std::string& device = "emu:0",
                                           const std::string& coordinator = "none") {
  return must(Runtime::open({.device = device,
                             .coordinator = coordinator,
                             .host_bytes = host_bytes,
                             .emulated = {.total_bytes = total_bytes, .hostile = hostile}}));
}

}  // namespace aqua::test
