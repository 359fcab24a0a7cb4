// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/model_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/try.hpp"
#include "systems/sharing/decide/gguf.hpp"
#include "systems/sharing/decide/safetensors.hpp"

namespace aqua::sharing {

// GGUF begins with its name. safetensors begins with the length of its header, in eight bytes, and
// then the header, a JSON object; a length that reads as "GGUF" would be over the format's limit.
Result<std::vector<FileTensor>> read_tensor_list(ByteSource& source, std::uint32_t file) {
  std::array<char, 9> first{};
  const std::uint64_t there = std::min<std::uint64_t>(first.size(), source.bytes());
  AQUA_TRY(source.read(0, std::as_writable_bytes(std::span(first)).first(there)));
  if (std::string_view(first.data(), 4) == "GGUF") return read_gguf(source, file);
  if (first.back() == '{') return read_safetensors(source, file);
  return Error{Code::invalid_argument, "model file: is neither GGUF nor safetensors"};
}

}  // namespace aqua::sharing
