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

BlockList gather_list(std::byte* tensor, const std::byte* pool, std::size_t bytes,
                      std::size_t block_bytes) {
  std::vector<kernels::Segment> list;
  for (const std::size_t place : places(bytes, block_bytes)) {
    list.push_back({tensor + list.size() * block_bytes, pool + place * block_bytes, block_bytes});
  }
  return BlockList(std::move(list));
}

BlockList scatter_list(std::byte* pool, const std::byte* tensor, std::size_t bytes,
                       std::size_t block_bytes) {
  std::vector<kernels::Segment> list;
  for (const std::size_t place : places(bytes, block_bytes)) {
    list.push_back({pool + place * block_bytes, tensor + list.size() * block_bytes, block_bytes});
  }
  return BlockList(std::move(list));
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
