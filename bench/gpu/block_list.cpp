#include "gpu/block_list.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "gpu/bench_kernels.hpp"

namespace aqua::bench {
namespace {

// Where in the pool the tensor's blocks lie: half of its blocks, shuffled.
std::vector<std::size_t> places(std::size_t bytes, std::size_t block_bytes) {
  std::vector<std::size_t> order(2 * bytes / block_bytes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  order.resize(bytes / block_bytes);
  return order;
}

}  // namespace

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
