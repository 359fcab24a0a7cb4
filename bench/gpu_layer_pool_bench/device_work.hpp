// SPDX-License-Identifier: Apache-2.0
// DeviceWork is the kernels of an engine's layers, on a stream of its own: they compare what the
// step reads, stamp what it writes, and spin as long as a model's would compute. A layer's kernels
// may be captured once and replayed: what they read, write and compare is in memory that each step
// fills anew, so only the planes' addresses are part of a graph.
//
// Threads: one. Owns: the stream, graphs. Must be gone before its runtime, and outlive the pool's
// last step. Errors: the program ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "aqua/runtime.hpp"
#include "layer_pool_bench/layer_work.hpp"

namespace aqua::bench {

class DeviceWork {
 public:
  static constexpr std::uint32_t kMostBlocks = 1024;  // of each list of a step
  static constexpr std::uint32_t kMostPlanes = 2;

  DeviceWork() = default;
  virtual ~DeviceWork() = default;
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  [[nodiscard]] virtual aqua::Stream stream() const = 0;
  // Sets the work of all kernels that are posted from now on.
  virtual void load(const LayerWork& step) = 0;
  virtual void launch(std::uint32_t layer, std::span<std::byte* const> planes,
                      std::size_t block_bytes) = 0;
  // Captures the same kernels, which replay() posts; `layer` names the graph, for good.
  virtual void capture(std::uint32_t layer, std::span<std::byte* const> planes,
                       std::size_t block_bytes) = 0;
  virtual void replay(std::uint32_t layer) = 0;
  // Waits for all work of the stream. Answers the words that were not as they were written, so far.
  virtual std::uint64_t settle() = 0;
};

// On an emulated GPU, where a graph is the list of what was to be launched.
[[nodiscard]] std::unique_ptr<DeviceWork> emulated_work(Runtime& runtime);
// On a GPU, which this thread then works on.
[[nodiscard]] std::unique_ptr<DeviceWork> cuda_work(Runtime& runtime);

}  // namespace aqua::bench
