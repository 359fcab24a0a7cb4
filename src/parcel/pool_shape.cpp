// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_shape.hpp"

#include <cstdint>

#include "base/concat.hpp"
#include "base/keeper/limits.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "parcel/pool_book.hpp"
#include "parcel/pool_wire.hpp"

namespace aqua {
namespace {

constexpr std::size_t kPlaneAlignment = 256;  // bytes
constexpr std::uint32_t kMostLayers = 4096;

template <typename... What>
Error cannot_be(const What&... what) {
  return Error{Code::invalid_argument, concat("pool: ", what...)};
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::size_t plane_bytes(const KvPoolShape& shape) {
  return round_up(shape.plane_block_bytes * shape.blocks, kPlaneAlignment);
}

std::size_t pool_bytes(const KvPoolShape& shape) {
  return round_up(plane_bytes(shape) * shape.layers * shape.planes_per_layer, kSlabUnit);
}

Result<void> check(const KvPoolOptions& options) {
  const KvPoolShape& shape = options.shape;
  if (options.name.empty() || options.name.size() > keeper_wire::kLongestName ||
      !is_plain(options.name)) {
    return cannot_be("a name of ", options.name.size(), " bytes, which has to be 1 to ",
                     keeper_wire::kLongestName, " of printable ASCII");
  }
  AQUA_TRY(check_role("pool", options.role));
  if (shape.layers == 0 || shape.layers > kMostLayers || shape.planes_per_layer == 0 ||
      shape.planes_per_layer > 2 || shape.plane_block_bytes == 0 || shape.tokens_per_block == 0 ||
      shape.blocks == 0 || shape.blocks > pool_wire::kMostPoolBlocks) {
    return cannot_be(shape.layers, " layers (of at most ", kMostLayers, ") of ",
                     shape.planes_per_layer, " planes (1 or 2), ", shape.blocks,
                     " blocks (of at most ", pool_wire::kMostPoolBlocks, ") of ",
                     shape.plane_block_bytes, " bytes and ", shape.tokens_per_block,
                     " tokens: none may be 0");
  }
  if (!is_plain(shape.format) || shape.format.size() > pool_wire::kLongestShape / 2) {
    return cannot_be("a format of ", shape.format.size(), " bytes, of at most ",
                     pool_wire::kLongestShape / 2, ", printable ASCII");
  }
  if (options.slab_bytes == 0 || options.slab_bytes % kSlabUnit != 0) {
    return cannot_be("slabs of ", options.slab_bytes, " bytes, which is no multiple of ",
                     kSlabUnit);
  }
  if (options.quota_blocks > shape.blocks) {
    return cannot_be("a quota of ", options.quota_blocks, " blocks, of ", shape.blocks);
  }
  const std::uint64_t plane_blocks =
      std::uint64_t{shape.layers} * shape.planes_per_layer * shape.blocks;
  if (shape.plane_block_bytes > keeper_wire::kMostBytes / plane_blocks - kPlaneAlignment) {
    return cannot_be("blocks of ", shape.plane_block_bytes,
                     " bytes in a plane: more than any device has");
  }
  return {};
}

std::string text_of(const KvPoolShape& shape) {
  return concat("layers=", shape.layers, " planes_per_layer=", shape.planes_per_layer,
                " plane_block_bytes=", shape.plane_block_bytes,
                " tokens_per_block=", shape.tokens_per_block, " format=", shape.format);
}

}  // namespace aqua
