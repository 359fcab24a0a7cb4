// SPDX-License-Identifier: Apache-2.0
// How the cache of a KV pool lies in its memory: planes one after another, each with its blocks.
//
// Threads: free functions. Pure: no I/O.
#pragma once

#include <cstddef>
#include <string>

#include "aqua/handoff/kv_pool_options.hpp"
#include "aqua/result.hpp"

namespace aqua {

inline constexpr std::size_t kSlabUnit = std::size_t{2} << 20;  // bytes

// invalid_argument: an option cannot be.
[[nodiscard]] Result<void> check(const KvPoolOptions& options);
// From the beginning of one plane to the next.
[[nodiscard]] std::size_t plane_bytes(const KvPoolShape& shape);
// The bytes of all planes, in whole units of slabs.
[[nodiscard]] std::size_t pool_bytes(const KvPoolShape& shape);
// What members have to agree on, in words, but for the number of blocks.
[[nodiscard]] std::string text_of(const KvPoolShape& shape);

}  // namespace aqua
