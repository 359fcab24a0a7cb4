// SPDX-License-Identifier: Apache-2.0
#include "serve/own_blocks.hpp"

#include <algorithm>

#include "must.hpp"

namespace aqua::fleet {
namespace {

using example::must;

ElasticPool memory_of(Runtime& runtime, std::size_t planes, std::size_t bytes) {
  ElasticPoolOptions options{.planes = planes};
  options.plane_bytes = (bytes + options.slab_bytes - 1) / options.slab_bytes * options.slab_bytes;
  return must(ElasticPool::create(runtime, options), "KV memory");
}

}  // namespace

OwnBlocks::OwnBlocks(Runtime& runtime, std::size_t planes, std::size_t plane_block_bytes,
                     std::uint32_t blocks)
    : runtime_(runtime),
      plane_block_bytes_(plane_block_bytes),
      blocks_(blocks),
      memory_(memory_of(runtime, planes, plane_block_bytes * blocks)) {
  for (std::uint32_t block = 0; block < blocks; ++block) free_.insert(free_.end(), block);
}

std::vector<std::byte*> OwnBlocks::planes() const {
  std::vector<std::byte*> planes;
  for (std::size_t plane = 0; plane < memory_.planes(); ++plane)
    planes.push_back(memory_.plane(plane));
  return planes;
}

std::uint32_t OwnBlocks::usable() const {
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(blocks_, memory_.usable_blocks(plane_block_bytes_)));
}

std::optional<std::vector<std::uint32_t>> OwnBlocks::take(std::size_t count) {
  const auto end = free_.lower_bound(usable());
  std::vector<std::uint32_t> taken;
  for (auto at = free_.begin(); at != end && taken.size() < count; ++at) taken.push_back(*at);
  if (taken.size() < count) return {};
  for (const std::uint32_t block : taken) free_.erase(block);
  return taken;
}

void OwnBlocks::release(const std::vector<std::uint32_t>& blocks) {
  free_.insert(blocks.begin(), blocks.end());
}

bool OwnBlocks::lend(Stream stream) {
  if (lends() || free_.size() < blocks_) return false;
  const auto lent = memory_.lend(memory_.total_quanta(), stream);
  // The loan before this one may not have been unmapped yet when it was taken back.
  if (!lent.ok() && lent.error().code == Code::failed_precondition) return false;
  must(lent, "lend");
  return true;
}

void OwnBlocks::take_back(std::chrono::milliseconds deadline) {
  const std::size_t bytes = lent_bytes();  // read once: the last of it may come home meanwhile
  if (bytes > 0) (void)must(runtime_.reclaim(bytes, deadline), "reclaim");
}

}  // namespace aqua::fleet
