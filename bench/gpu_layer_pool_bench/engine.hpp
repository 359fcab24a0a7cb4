// SPDX-License-Identifier: Apache-2.0
// SwapEngine posts steps of a model whose KV is in a LayerPool, by kernels of a DeviceWork:
// launched one by one, or replayed from a graph for each layer that was captured at first.
//
// Threads: one. Errors: the program ends, also at a wrong byte.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "call_time.hpp"
#include "gpu_layer_pool_bench/device_work.hpp"
#include "layer_pool_bench/shape.hpp"

namespace aqua::bench {

using BlockNumbers = std::vector<std::uint32_t>;

class SwapEngine {
 public:
  // `goal`: the pool's, with which it measures its steps; frames are then `frames` all the same.
  SwapEngine(Runtime& runtime, DeviceWork& work, const Shape& shape, std::uint32_t frames,
             const char* goal = "");
  ~SwapEngine() { (void)work_.settle(); }
  SwapEngine(const SwapEngine&) = delete;
  SwapEngine& operator=(const SwapEngine&) = delete;

  void capture_layers();  // from now on steps replay them
  // Reads all blocks that were written, and then writes `writes`. Waits for nothing.
  void post(const BlockNumbers& writes);
  // Seconds of one step, a mean over many posted in a row, each of which writes the last block of
  // two sequences: of the device, and of this thread's processor in the pool's calls.
  struct Seconds {
    double device = 0;
    double calls = 0;
  };
  [[nodiscard]] Seconds time_steps(unsigned steps);
  void fill();  // every block
  // Every word of every block that was written, of all layers. Answers how many bytes those are.
  std::size_t check();
  void resize(std::uint32_t frames);

  [[nodiscard]] LayerPool& pool() { return pool_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t blocks() const { return shape_.frame_blocks(); }

 private:
  void check_words();

  Runtime& runtime_;
  DeviceWork& work_;
  const Shape shape_;
  LayerPool pool_;
  CallTime calls_;
  bool replays_ = false;
  std::uint32_t step_ = 0;
  std::vector<std::uint32_t> stamps_;  // of each block; 0: not written
};

}  // namespace aqua::bench
