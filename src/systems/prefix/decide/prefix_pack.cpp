// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_pack.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "base/fnv1a.hpp"
#include "systems/prefix/decide/bytes_at.hpp"

namespace aqua::prefix {
namespace {

constexpr std::string_view kPackMagic = "AQUAPFX1";
constexpr std::size_t kHashedHead = 16;  // the head is hashed from here on
constexpr std::size_t kFixedHead = 72;
constexpr std::size_t kAlignment = 64;

}  // namespace

std::size_t pack_head_bytes(std::size_t chain_blocks) {
  const std::size_t bytes = kFixedHead + chain_blocks * sizeof(BlockHash);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void write_pack_head(const PrefixPack& pack, std::span<std::byte> segment) {
  const std::span<std::byte> head = segment.first(pack_head_bytes(pack.chain.size()));
  std::ranges::fill(head, std::byte{0});
  std::memcpy(head.data(), kPackMagic.data(), kPackMagic.size());
  put_at(head, 16, pack.head.owner);
  put_at(head, 32, pack.head.shape);
  put_at(head, 48, pack.head.order);
  put_at(head, 56, pack.tokens);
  put_at(head, 64, static_cast<std::uint32_t>(pack.chain.size()));
  put_at(head, 68, pack.first);
  put_at(head, kFixedHead, std::span<const BlockHash>(pack.chain));
  put_at(head, 8, fnv1a(head.subspan(kHashedHead)));
}

Result<PrefixPack> parse_pack_head(std::span<const std::byte> segment) {
  const Error wrong{Code::invalid_argument, "the segment has no prefix pack that can be"};
  if (segment.size() < kFixedHead) return wrong;
  if (std::memcmp(segment.data(), kPackMagic.data(), kPackMagic.size()) != 0) return wrong;
  const auto blocks = get_at<std::uint32_t>(segment, 64);
  const std::size_t bytes = pack_head_bytes(blocks);
  if (blocks == 0 || bytes > segment.size()) return wrong;
  const auto head = segment.first(bytes);
  if (get_at<std::uint64_t>(head, 8) != fnv1a(head.subspan(kHashedHead))) return wrong;
  PrefixPack pack{.head = {get_at<BlockHash>(head, 16), get_at<BlockHash>(head, 32),
                           get_at<std::uint64_t>(head, 48)},
                  .tokens = get_at<std::uint64_t>(head, 56),
                  .first = get_at<std::uint32_t>(head, 68)};
  if (pack.first >= blocks) return wrong;
  pack.chain.resize(blocks);
  get_at(head, kFixedHead, std::span(pack.chain));
  return pack;
}

// A block's hash stands for all before it, so whichever pack has a block names the same ones
// before it: it is enough to look at each pack's own chain.
std::vector<std::size_t> usable_packs(std::span<const PrefixPack> found) {
  std::unordered_set<BlockHash> there;
  for (const PrefixPack& pack : found) {
    there.insert(pack.chain.begin() + pack.first, pack.chain.end());
  }
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto before = std::span(found[i].chain).first(found[i].first);
    const bool all =
        std::ranges::all_of(before, [&](const BlockHash& block) { return there.contains(block); });
    if (all) usable.push_back(i);
  }
  std::ranges::stable_sort(usable, {}, [&](std::size_t i) { return found[i].head.order; });
  return usable;
}

}  // namespace aqua::prefix
