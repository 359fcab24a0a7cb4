// SPDX-License-Identifier: Apache-2.0
// Reads and writes of a file at an offset that stop at nothing but its end or an error: not at a
// signal, nor where the kernel has done a part. `what` is for errors, which are errno_error()'s.
//
// Threads: free functions; the descriptor's own offset is neither used nor changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua {

// How many bytes were read: fewer than `into` has where the file ends.
[[nodiscard]] Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::byte> into,
                                          std::string_view what);
[[nodiscard]] Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                                    std::string_view what);

}  // namespace aqua
