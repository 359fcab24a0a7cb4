// SPDX-License-Identifier: Apache-2.0
// What every device refuses before it queues anything.
#pragma once

#include <cstddef>

#include "device/device.hpp"

namespace aqua::device {

// invalid_argument for an empty batch, a null address with bytes, or a range that wraps.
[[nodiscard]] Result<void> check_batch(const CopyBatch& batch);
[[nodiscard]] Result<void> check_scrub(const std::byte* dst, std::size_t bytes);

// invalid_argument unless `bytes` is a positive multiple of `granularity`.
[[nodiscard]] Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity);

// The error for an object of another device's.
[[nodiscard]] Error not_ours(const char* what, const char* object);

}  // namespace aqua::device
