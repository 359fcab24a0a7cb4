// SPDX-License-Identifier: Apache-2.0
// What a segment says of the replicas in it: whatever it is, it is refused, or it leads nowhere
// outside the segment and is written as it was read.
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/fnv1a.hpp"
#include "systems/kv_stream/decide/replica/pack.hpp"

namespace {

using aqua::kv_stream::Pack;

void check(std::span<const std::byte> segment) {
  const auto pack = aqua::kv_stream::parse_pack(segment);
  if (!pack.ok()) return;
  std::size_t kv_end = 0;
  std::memcpy(&kv_end, segment.data() + 8, sizeof kv_end);
  for (const auto& entry : pack->entries) {
    if (entry.ids.empty() || entry.offset + entry.ids.size() * pack->token_bytes > kv_end)
      std::abort();
  }
  std::vector<std::byte> again(segment.size());
  if (aqua::kv_stream::write_pack(*pack, kv_end, again) != segment.size()) std::abort();
  if (std::memcmp(again.data() + kv_end, segment.data() + kv_end, segment.size() - kv_end) != 0)
    std::abort();
}

// The bytes as a directory behind a head that is right.
void check_directory(std::span<const std::byte> directory) {
  constexpr std::size_t kKvEnd = 4096;
  std::vector<std::byte> segment(kKvEnd);
  segment.insert(segment.end(), directory.begin(), directory.end());
  const std::uint64_t words[] = {kKvEnd, directory.size(), aqua::fnv1a(directory)};
  std::memcpy(segment.data(), "AQUAPCK2", 8);
  std::memcpy(segment.data() + 8, words, sizeof words);
  check(segment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  check_directory(bytes);
  return 0;
}
