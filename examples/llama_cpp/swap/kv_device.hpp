// SPDX-License-Identifier: Apache-2.0
// KvDevice: a device of ggml's that has llama.cpp's KV cache and nothing else. The cache is a
// LayeredKv; what reads or writes it is computed here, by ggml's backend for the CPU, all else by
// that backend itself. To llama.cpp it is a GPU that all layers are offloaded to and whose memory
// both may follow, so that no weight and no activation is copied.
//
//   KvDevice device(runtime, {.layers = 30, .frames = 15, .rows = 2048});
//   Model model(file, device.get());
//   device.next_buffer_is_the_cache();
//   Engine engine(model, slots, tokens_per_slot, threads);
//
// Saving and restoring a sequence's state works, slowly: a pass through all layers for each plane.
//
// Threads: llama.cpp's caller. The runtime outlives it, and it the models and contexts.
// Errors:  what goes wrong within a graph makes llama_decode() fail, and is in failure().
#pragma once

#include <ggml-backend-impl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "layered_kv.hpp"

namespace aqua::llama_example {

class KvDevice {
 public:
  struct Options {
    std::uint32_t layers = 0;  // of the model, all of which have keys and values
    std::uint32_t frames = 0;  // at least 3
    std::uint64_t rows = 0;    // tokens that the cache is made for (Engine::cache_tokens())
  };
  KvDevice(Runtime& runtime, const Options& options);
  ~KvDevice();
  KvDevice(const KvDevice&) = delete;
  KvDevice& operator=(const KvDevice&) = delete;

  [[nodiscard]] ggml_backend_dev_t get() { return &device_; }
  // The context that is made next has its cache here; there is one at a time.
  void next_buffer_is_the_cache() { wanted_ = true; }
  // While a context has its cache here.
  [[nodiscard]] LayerPoolStatus status() const { return kv_->status(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Plane {
    std::uint32_t layer = 0;
    bool keys = false;
  };
  // ggml's tables of functions, each of which ends in one of the members below.
  struct Calls;

  [[nodiscard]] ggml_backend_buffer_t allocate(std::size_t bytes);
  void place(ggml_tensor& tensor);  // which the cache's buffer was made for
  void clear(std::uint8_t value);
  // Runs `work` when a tensor's plane is in memory, on `bytes` at `offset` of the tensor.
  void visit(const ggml_tensor& tensor, std::size_t offset, std::size_t bytes, bool writes,
             const std::function<void(std::byte* at)>& work);
  void compute(ggml_backend_t cpu, ggml_cgraph& graph);

  [[nodiscard]] const Plane* plane_of(const ggml_tensor* tensor) const;
  [[nodiscard]] bool touches_cache(const ggml_tensor& op) const;
  void begin_pass(const std::vector<const ggml_tensor*>& rows_written);
  void check_reads(const ggml_tensor& cache_view) const;

  Runtime& runtime_;
  const Options options_;
  ggml_backend_reg registry_;
  ggml_backend_device device_;
  ggml_backend_buffer_type buffers_;
  bool wanted_ = false;
  std::unique_ptr<LayeredKv> kv_;
  std::unordered_map<const ggml_tensor*, Plane> planes_;  // the cache's own tensors
  std::uint64_t rows_per_sequence_ = 0;
  std::size_t row_bytes_ = 0;
  std::vector<std::uint64_t> rows_used_;  // at most, of each sequence
  std::vector<RowRange> reads_;           // of the pass
  std::string failure_;
};

}  // namespace aqua::llama_example
