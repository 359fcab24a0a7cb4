// SPDX-License-Identifier: Apache-2.0
// Reads the headers of GGUF files, version 2 and 3, little endian:
//
//   "GGUF", version (u32), tensors (u64), entries of metadata (u64)
//   each entry    key, type (u32), value; of all of them only general.alignment matters here
//   each tensor   name, axes (u32), their lengths (u64) innermost first, type (u32), offset (u64)
//   the data      from the next multiple of the alignment on; offsets count from there
//
// A key, a name and a text are a length (u64) and so many bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

// As read_tensor_list(), of a file that begins with "GGUF".
[[nodiscard]] Result<std::vector<FileTensor>> read_gguf(ByteSource& source, std::uint32_t file);

}  // namespace aqua::sharing
