// SPDX-License-Identifier: Apache-2.0
// Address ranges that nobody can read or write, for slabs to be mapped into.
#pragma once

#include <cstddef>

namespace aqua::device {

// A new range, aligned to `alignment` (a power of two of at least a page), which the caller
// owns and munmaps. Null when the kernel refuses.
[[nodiscard]] std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) noexcept;

// Replaces whatever is mapped there, within a range of the caller's own. False, and nothing
// changed, when the kernel has no memory for it.
[[nodiscard]] bool make_hole(std::byte* address, std::size_t bytes) noexcept;

}  // namespace aqua::device
