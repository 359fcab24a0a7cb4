// The bytes that the copies of a benchmark move: blocks scattered over a pool in random
// order, and a tensor that holds them one after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/cuda_objects.hpp"
#include "kernels/copy.hpp"

namespace aqua::bench {

// A list on the host, for the driver's copies, and on the device, for kernels.
class BlockList {
 public:
  explicit BlockList(std::vector<kernels::Segment> segments);
  [[nodiscard]] const std::vector<kernels::Segment>& segments() const { return segments_; }
  [[nodiscard]] std::size_t bytes() const { return launch_.total_bytes; }
  // Over the device's list; kernel and SMs are the caller's.
  [[nodiscard]] const kernels::CopyLaunch& launch() const { return launch_; }

 private:
  std::vector<kernels::Segment> segments_;
  Buffer on_device_;
  kernels::CopyLaunch launch_;
};

// pool: twice the tensor's bytes. The same order for the same sizes.
[[nodiscard]] BlockList gather_list(std::byte* tensor, const std::byte* pool, std::size_t bytes,
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
