// SPDX-License-Identifier: Apache-2.0
// Reads the headers of safetensors files:
//
//   the length of the header (u64, little endian), at most 100 MB
//   the header, a JSON object: "__metadata__", and by each tensor's name its dtype, shape (the
//   outermost axis first) and data_offsets, from its first byte to behind its last
//   the data; offsets count from its beginning
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

// As read_tensor_list(), of a file that has at least nine bytes.
[[nodiscard]] Result<std::vector<FileTensor>> read_safetensors(ByteSource& source,
                                                               std::uint32_t file);

}  // namespace aqua::sharing
