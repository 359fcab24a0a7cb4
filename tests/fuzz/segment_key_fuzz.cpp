// SPDX-License-Identifier: Apache-2.0
// Any bytes as the name of a blob in the keeper's log: no segment's, or one that has this very
// name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/keeper/disk/segment_key.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::keeper;
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  const auto name = segment_of(key, size);
  if (name && (key_of(*name) != key || name->bytes != size || name->number == 0)) std::abort();
  return 0;
}
