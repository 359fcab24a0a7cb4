// SPDX-License-Identifier: Apache-2.0
// Any bytes as the name of a blob in the keeper's log: no segment's, or one that has this very
// name, be it a copy or not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/keeper/disk/segment_key.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::keeper;
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  const auto segment = segment_of(key, size);
  if (!segment) return 0;
  const auto& name = segment->name;
  const bool same = key_of(name, segment->copy_of) == key;
  if (!same || name.bytes != size || name.number == 0) std::abort();
  return 0;
}
