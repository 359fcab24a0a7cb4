// SPDX-License-Identifier: Apache-2.0
#include "gpu/block_list.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "gpu/bench_kernels.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kMostLayers = 16;  // as calibration has

// Where in the pool the tensor's blocks lie, in the tensor's order.
std::vector<std::size_t> places(std::size_t bytes, std::size_t block_bytes) {
  const BlockPlaces of(bytes, block_bytes);
  std::vector<std::size_t> all;
  for (unsigned layer = 0; layer < of.layers; ++layer) {
    for (const std::uint32_t block : of.blocks)
      all.push_back(std::size_t{layer} * of.per_layer + block);
  }
  return all;
}

}  // namespace

BlockPlaces::BlockPlaces(std::size_t bytes, std::size_t block_bytes)
    : layers(static_cast<unsigned>(std::min(kMostLayers, bytes / block_bytes))),
      per_layer(static_cast<std::uint32_t>(2 * bytes / block_bytes / layers)),
      blocks(per_layer) {
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(1));
  blocks.resize(per_layer / 2);
}

BlockList::BlockList(std::vector<kernels::Segment> segments)
    : segments_(std::move(segments)),
      on_device_(Where::device, segments_.size() * sizeof(kernels::Segment)),
      launch_(kernels::describe(segments_)) {
  must(cudaMemcpy(on_device_.data(), segments_.data(), on_device_.bytes(), cudaMemcpyDefault));
  must(cudaDeviceSynchronize());
  launch_.segments = reinterpret_cast<const kernels::Segment*>(on_device_.data());
}

BlockList::BlockList(std::vector<kernels::Segment> segments, const PoolEnd& pool)
    : BlockList(std::move(segments)) {
  const BlockPlaces of(bytes(), pool.block_bytes);
  std::vector<std::byte*> planes;
  for (unsigned layer = 0; layer < of.layers; ++layer)
    planes.push_back(pool.base + std::size_t{layer} * of.per_layer * pool.block_bytes);
  const auto on_device = [](std::optional<Buffer>& buffer, const auto& entries) {
    buffer.emplace(Where::device, entries.size() * sizeof entries.front());
    must(cudaMemcpy(buffer->data(), entries.data(), buffer->bytes(), cudaMemcpyDefault));
  };
  on_device(planes_, planes);
  on_device(ids_, of.blocks);
  must(cudaDeviceSynchronize());
  kernels::BlockLaunch& launch = by_blocks_.emplace();
  kernels::Blocks& blocks = launch.blocks;
  blocks.blocks = static_cast<std::uint32_t>(of.blocks.size());
  blocks.piece_bytes = pool.block_bytes;
  (pool.source ? blocks.src : blocks.dst) = {
      .planes = reinterpret_cast<std::byte* const*>(planes_->data()),
      .ids = reinterpret_cast<const std::uint32_t*>(ids_->data()),
      .block_stride = pool.block_bytes};
  launch.count = segments_.size();
  launch.line = pool.source ? segments_.front().dst : const_cast<std::byte*>(segments_.front().src);
}

BlockList gather_list(std::byte* tensor, std::byte* pool, std::size_t bytes,
                      std::size_t block_bytes) {
  std::vector<kernels::Segment> list;
  for (const std::size_t place : places(bytes, block_bytes)) {
    list.push_back({tensor + list.size() * block_bytes, pool + place * block_bytes, block_bytes});
  }
  return {std::move(list), {pool, true, block_bytes}};
}

BlockList scatter_list(std::byte* pool, const std::byte* tensor, std::size_t bytes,
                       std::size_t block_bytes) {
  std::vector<kernels::Segment> list;
  for (const std::size_t place : places(bytes, block_bytes)) {
    list.push_back({pool + place * block_bytes, tensor + list.size() * block_bytes, block_bytes});
  }
  return {std::move(list), {pool, false, block_bytes}};
}

Areas::Areas(std::size_t tensor_bytes)
    : bytes(tensor_bytes),
      pool_in(Where::device, 2 * bytes),
      pool_out(Where::device, 2 * bytes),
      tensor_in(Where::device, bytes),
      tensor_out(Where::device, bytes),
      host_in(Where::host, bytes),
      host_out(Where::host, bytes) {
  std::uint64_t seed = 1;
  for (const Buffer* source : {&pool_in, &tensor_in, &host_in}) {
    must(fill(source->data(), source->bytes(), seed++, nullptr));
  }
  must(cudaDeviceSynchronize());
}

}  // namespace aqua::bench
