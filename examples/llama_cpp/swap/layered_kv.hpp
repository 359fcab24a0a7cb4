// SPDX-License-Identifier: Apache-2.0
// LayeredKv: llama.cpp's KV cache in a LayerPool. Each layer's keys are one plane and its values
// another, rows of tokens one behind the other; a block is kBlockTokens rows. A pass of llama.cpp
// through its layers is a step of the pool.
//
// Its kernels are llama.cpp's functions for the CPU, on an emulated device whose addresses can be
// followed within them (EmulatedOptions::hostile is false).
//
// Threads: one at a time. Owns: the pool and its stream. The runtime outlives it.
// Errors:  throws Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"

namespace aqua::llama_example {

// Rows of the cache, over all sequences: from, and past the last.
struct RowRange {
  std::uint64_t begin = 0, end = 0;
};

class LayeredKv {
 public:
  static constexpr std::uint32_t kBlockTokens = 64;
  static constexpr std::size_t kSlabBytes = std::size_t{2} << 20;
  // The device memory that keys and values of a layer take.
  [[nodiscard]] static constexpr std::size_t frame_bytes(std::size_t plane_bytes) {
    return 2 * ((plane_bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes);
  }

  // `plane_bytes`: of the keys of one layer, for `rows` tokens; values take as much.
  LayeredKv(Runtime& runtime, std::uint32_t layers, std::uint32_t frames, std::size_t plane_bytes,
            std::uint64_t rows);
  ~LayeredKv();
  LayeredKv(const LayeredKv&) = delete;
  LayeredKv& operator=(const LayeredKv&) = delete;

  [[nodiscard]] std::uint32_t layers() const { return layers_; }
  [[nodiscard]] std::size_t plane_bytes() const { return plane_bytes_; }
  [[nodiscard]] std::byte* keys(std::uint32_t layer) const { return pool_.planes(layer)[0]; }
  [[nodiscard]] std::byte* values(std::uint32_t layer) const { return pool_.planes(layer)[1]; }
  [[nodiscard]] LayerPoolStatus status() const { return pool_.status(); }

  // Begins a pass that reads and writes rows of these ranges, in every layer.
  void begin_pass(const std::vector<RowRange>& reads, const std::vector<RowRange>& writes);
  // Runs `work` as a kernel on what a layer holds, and waits for it. Layers come in order, each as
  // often as it likes.
  void on_layer(std::uint32_t layer, const std::function<void()>& work);
  // No more work is on `layer`. After the last of them the pass has ended, and what it read was
  // what was written.
  void end_layer(std::uint32_t layer);
  [[nodiscard]] bool within_pass() const { return within_pass_; }

  // A whole pass in which `work` gets each layer's number.
  void pass(const std::vector<RowRange>& reads, const std::vector<RowRange>& writes,
            const std::function<void(std::uint32_t layer)>& work);
  [[nodiscard]] RowRange all_rows() const { return {0, rows_}; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> blocks_of(const std::vector<RowRange>& ranges) const;
  void run(const std::function<void()>& work);

  Runtime& runtime_;
  const std::uint32_t layers_;
  const std::size_t plane_bytes_;
  const std::uint64_t rows_;
  LayerPool pool_;
  Stream stream_;
  bool within_pass_ = false, within_layer_ = false;
};

}  // namespace aqua::llama_example
