// SPDX-License-Identifier: Apache-2.0
// The bytes that the copies of a benchmark move: blocks scattered over a pool in random
// order, and a tensor that holds them one after the other. The pool is an engine's cache of up to
// 16 layers, of each of which the same half is moved, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/cuda_objects.hpp"
#include "kernels/copy.hpp"

namespace aqua::bench {

// Which of a pool's blocks: those named, in each of its layers. The same for the same sizes.
struct BlockPlaces {
  // `bytes`, of a pool of twice as many; powers of two.
  BlockPlaces(std::size_t bytes, std::size_t block_bytes);
  unsigned layers = 1;
  std::uint32_t per_layer = 1;          // that there are, twice those named
  std::vector<std::uint32_t> blocks{};  // named
};

// The end of a copy that is a pool, and whether it is the source.
struct PoolEnd {
  std::byte* base;
  bool source;
  std::size_t block_bytes;
};

// A list on the host, for the driver's copies, and on the device, for kernels.
class BlockList {
 public:
  explicit BlockList(std::vector<kernels::Segment> segments);
  // A list between the blocks of BlockPlaces, in a pool, and a line at the other end.
  BlockList(std::vector<kernels::Segment> segments, const PoolEnd& pool);
  [[nodiscard]] const std::vector<kernels::Segment>& segments() const { return segments_; }
  [[nodiscard]] std::size_t bytes() const { return launch_.total_bytes; }
  // Over the device's list; kernel and SMs are the caller's.
  [[nodiscard]] const kernels::CopyLaunch& launch() const { return launch_; }
  // The same copy by the numbers of the pool's blocks; none where there is no pool.
  [[nodiscard]] const std::optional<kernels::BlockLaunch>& by_blocks() const { return by_blocks_; }

 private:
  std::vector<kernels::Segment> segments_;
  Buffer on_device_;
  kernels::CopyLaunch launch_;
  std::optional<Buffer> planes_, ids_;  // of by_blocks_
  std::optional<kernels::BlockLaunch> by_blocks_;
};

// pool: twice the tensor's bytes. In the order of BlockPlaces, layer by layer.
[[nodiscard]] BlockList gather_list(std::byte* tensor, std::byte* pool, std::size_t bytes,
                                    std::size_t block_bytes);
[[nodiscard]] BlockList scatter_list(std::byte* pool, const std::byte* tensor, std::size_t bytes,
                                     std::size_t block_bytes);

// Everything that is copied from or to. Sources are filled once, with different words.
struct Areas {
  explicit Areas(std::size_t tensor_bytes);
  std::size_t bytes;  // of a tensor; a pool has twice as many
  Buffer pool_in, pool_out;
  Buffer tensor_in, tensor_out;
  Buffer host_in, host_out;
};

}  // namespace aqua::bench
