// SPDX-License-Identifier: Apache-2.0
// Any text as a manifest: refused with a message or read, and what is read passes check(), and
// written and read again it is the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "aqua/sharing/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::sharing;
  const auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size});
  if (!manifest.ok()) {
    if (manifest.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  if (!check(*manifest).ok()) std::abort();
  for (const TensorInfo& tensor : manifest->tensors) {
    const std::uint64_t end = tensor.offset + tensor_bytes(*manifest, tensor);
    if (end < tensor.offset || end > slab_bytes(*manifest)) std::abort();
  }
  const auto again = parse_manifest(to_json(*manifest));
  if (!again.ok() || *again != *manifest) std::abort();
  return 0;
}
