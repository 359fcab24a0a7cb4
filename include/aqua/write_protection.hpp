// SPDX-License-Identifier: Apache-2.0
// How memory that is published is kept from being written.
#pragma once

#include <cstdint>
#include <string_view>

namespace aqua {

enum class WriteProtection : std::uint8_t {
  enforced,       // by the kernel, whatever a process tries
  by_convention,  // by this library: a process that goes around it can write
};

[[nodiscard]] constexpr std::string_view to_string(WriteProtection protection) noexcept {
  return protection == WriteProtection::enforced ? "enforced" : "by_convention";
}

}  // namespace aqua
