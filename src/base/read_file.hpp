// SPDX-License-Identifier: Apache-2.0
// Whole files, with a limit on what is taken into memory. Each error names the file and, after a
// failed system call, why.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua {

inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

// Reads `path`. resource_exhausted when it has more than `limit` bytes; not_found and other codes
// of errno_error() when it cannot be opened or read. May block, if it is a pipe.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t limit = kMaxFileBytes);

// Reads what is left of an open file; `name` is for errors.
[[nodiscard]] Result<std::string> read_file_of(int fd, std::string_view name,
                                               std::size_t limit = kMaxFileBytes);

}  // namespace aqua
