// SPDX-License-Identifier: Apache-2.0
// What a segment says of a prefix cache, blocks or prompts: whatever it is, it is refused, or it
// leads nowhere outside the segment, is written as it was read, and an index takes it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/fnv1a.hpp"
#include "systems/prefix/decide/prefix_history.hpp"

namespace {

using namespace aqua::prefix;

constexpr std::size_t kRoom = std::size_t{1} << 20;

void restore(std::span<const PrefixPack> packs, const PrefixHistory& history) {
  PrefixIndex index = *PrefixIndex::create({.block_tokens = 8, .capacity_blocks = 16});
  restore_index(index, packs, history, 1,
                [](const BlockHash& block) { return block.low % 2 == 0; });
  if (index.blocks() > 16) std::abort();
}

void check_pack(std::span<const std::byte> segment) {
  const auto pack = parse_pack_head(segment);
  if (!pack.ok()) return;
  const std::size_t bytes = pack_head_bytes(pack->chain.size());
  if (bytes > segment.size() || pack->first >= pack->chain.size()) std::abort();
  std::vector<std::byte> again(bytes);
  write_pack_head(*pack, again);
  const auto read = parse_pack_head(again);
  if (!read.ok() || *read != *pack) std::abort();
  const std::vector<PrefixPack> packs{*pack, *pack};
  std::vector<PrefixPack> usable;
  for (const std::size_t i : usable_packs(packs)) usable.push_back(packs[i]);
  restore(usable, PrefixHistory(kRoom));
}

void check_history(std::span<const std::byte> segment) {
  PrefixHistory history(kRoom);
  const auto head = history.read(segment);
  if (!head.ok() || history.bytes() != segment.size()) return;  // longer ones are cut
  std::vector<std::byte> again(history.bytes());
  history.write(*head, again);
  if (std::memcmp(again.data(), segment.data(), again.size()) != 0) std::abort();
  restore({}, history);
}

// The bytes behind a magic and a hash that are right.
void check_hashed(std::span<const std::byte> bytes) {
  std::vector<std::byte> pack(16);
  std::memcpy(pack.data(), "AQUAPFX1", 8);
  pack.insert(pack.end(), bytes.begin(), bytes.end());
  if (pack.size() >= 72) {
    std::uint32_t blocks = 0;
    std::memcpy(&blocks, pack.data() + 64, sizeof blocks);
    const std::size_t head = std::min(pack_head_bytes(blocks), pack.size());
    const std::uint64_t hash =
        aqua::fnv1a(std::span<const std::byte>(pack).first(head).subspan(16));
    std::memcpy(pack.data() + 8, &hash, sizeof hash);
  }
  check_pack(pack);
  std::vector<std::byte> history(24);
  std::memcpy(history.data(), "AQUAPFH1", 8);
  history.insert(history.end(), bytes.begin(), bytes.end());
  const BlockHash hash = chain_root({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::memcpy(history.data() + 8, &hash, sizeof hash);
  check_history(history);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_pack(bytes);
  check_history(bytes);
  check_hashed(bytes);
  return 0;
}
