// SPDX-License-Identifier: Apache-2.0
// What a layer's kernels do in layer_pool_bench: they stamp the blocks that the step writes,
// compare those that it reads, and wait until as much time has passed as they would have computed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aqua::bench {

// The work of one step, the same in every layer.
struct LayerWork {
  std::vector<std::uint32_t> reads{};
  std::vector<std::uint32_t> stamps{};  // that the blocks of `reads` have
  std::vector<std::uint32_t> writes{};
  std::uint32_t step = 0;
  std::size_t block_bytes = 0;
  std::chrono::nanoseconds compute{0};
  bool every_word = false;  // is compared, not only each block's first and last
};

// What a block has that this step writes, wherever it is copied.
[[nodiscard]] std::uint32_t stamp_of(std::uint32_t step, std::uint32_t block);

// Inside a kernel. The words that were not as they were written.
[[nodiscard]] std::uint64_t run_layer(const LayerWork& work, std::uint32_t layer,
                                      std::span<std::byte* const> planes);

// How much later than asked a thread of this machine wakes up: the median of some short sleeps,
// taken at the first call. Kernels wait for so much less.
[[nodiscard]] std::chrono::nanoseconds wake_delay();

}  // namespace aqua::bench
