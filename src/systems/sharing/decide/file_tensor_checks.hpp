// SPDX-License-Identifier: Apache-2.0
// What every format of model files is checked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

// A name from a file as messages show it: at most 64 bytes, with '?' for each byte that is not
// printable ASCII.
[[nodiscard]] std::string shown(std::string_view name);

// Bytes of a tensor without gaps. `where` begins the message of invalid_argument: the shape does
// not fill whole blocks of the type, or takes more bytes than any file has.
[[nodiscard]] Result<std::uint64_t> dense_bytes(std::string_view where, const ElementType& type,
                                                const std::vector<std::uint64_t>& shape);

// Sorts the tensors of one file by their bytes. invalid_argument names a tensor whose name is
// empty, doubled, longer than 512 bytes or not printable, or whose bytes are outside the file or
// another tensor's. `format` begins the message.
[[nodiscard]] Result<void> check_and_sort(std::string_view format, std::uint64_t file_bytes,
                                          std::vector<FileTensor>& tensors);

}  // namespace aqua::sharing
