// SPDX-License-Identifier: Apache-2.0
#include "kv_cache.hpp"

#include <numeric>

#include "must.hpp"

namespace aqua::example {
namespace {

std::vector<emulated::Memory> allocate_planes(Runtime& runtime, std::uint32_t blocks) {
  const std::size_t plane_bytes = blocks * CacheShape::kBlockBytes / CacheShape::kPlanes;
  std::vector<emulated::Memory> planes;
  for (std::size_t i = 0; i < CacheShape::kPlanes; ++i) {
    planes.push_back(must(emulated::allocate(runtime, plane_bytes), "KV cache"));
  }
  return planes;
}

CacheGeometry geometry_of(const std::vector<emulated::Memory>& planes) {
  CacheGeometry geometry;
  for (const emulated::Memory& plane : planes) geometry.planes.push_back(plane.data());
  geometry.tokens_per_block = CacheShape::kTokensPerBlock;
  geometry.slot_bytes = CacheShape::kSlotBytes;
  return geometry;
}

// Planes alternate: the keys of layer 0, its values, the keys of layer 1, ...
Layout layout_of(const CacheGeometry& geometry, std::uint32_t blocks) {
  std::vector<std::byte*> keys, values;
  for (std::size_t i = 0; i < geometry.planes.size(); i += 2) {
    keys.push_back(geometry.planes[i]);
    values.push_back(geometry.planes[i + 1]);
  }
  const PagedShape shape{.layers = CacheShape::kLayers,
                         .block_count = blocks,
                         .tokens_per_block = CacheShape::kTokensPerBlock,
                         .element_bytes = CacheShape::kElementBytes};
  return must(Layout::mha(shape, CacheShape::kHeads, CacheShape::kHeadDim, keys, values), "layout");
}

}  // namespace

KvCache::KvCache(Runtime& runtime, std::uint32_t blocks)
    : runtime_(runtime),
      blocks_(blocks),
      memory_(allocate_planes(runtime, blocks)),
      geometry_(geometry_of(memory_)),
      layout_(layout_of(geometry_, blocks)),
      free_(blocks) {
  std::iota(free_.begin(), free_.end(), 0U);
}

BlockIds KvCache::take(std::uint64_t, std::uint32_t count) {
  const auto end = free_.begin() + static_cast<std::ptrdiff_t>(count);
  BlockIds taken(free_.begin(), end);
  free_.erase(free_.begin(), end);
  return taken;
}

void KvCache::give_back(std::uint64_t, BlockIds& blocks) {
  free_.insert(free_.end(), blocks.begin(), blocks.end());
  blocks.clear();
}

Ticket KvCache::offload(BlockList blocks, AquaTensor& tensor, Stream stream) {
  return must(runtime_.offload(layout_, blocks, tensor, stream), "offload");
}

Ticket KvCache::fetch(AquaTensor& tensor, BlockList blocks, Stream stream) {
  return must(runtime_.fetch(tensor, layout_, blocks, stream), "fetch");
}

void KvCache::check_fetched(Stream stream, CheckOrder order) {
  launch_check(runtime_, stream, geometry_, std::move(order));
}

std::uint64_t KvCache::step(Stream stream, StepWork work, const StepLoad&) {
  launch_writes(runtime_, stream, geometry_, std::move(work.writings));
  for (CheckOrder& order : work.checks) launch_check(runtime_, stream, geometry_, std::move(order));
  return ++steps_;
}

}  // namespace aqua::example
