// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "aqua/sharing/manifest.hpp"

namespace aqua::sharing {

// The element type that ggml gives this number in GGUF files. None for numbers that were never
// given, that were taken back, or that are not known here.
[[nodiscard]] std::optional<ElementType> ggml_type(std::uint32_t number);

}  // namespace aqua::sharing
