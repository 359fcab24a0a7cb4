// SPDX-License-Identifier: Apache-2.0
// KvCache is the paged KV of one process of a pipeline: its layers, its heads, in blocks of device
// memory that sequences take as they grow.
//
// Threads: one. Owns: the memory; no work on it may be in flight when it goes. Errors: Failure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "model/toy_model.hpp"

namespace aqua::pipeline {

struct CacheOptions {
  unsigned tokens_per_block = 16;
  std::uint32_t blocks = 256;
  bool heads_first = false;  // in a block: [head][token], in place of [token][head]
};

class KvCache {
 public:
  KvCache(Runtime& runtime, const ModelShape& model, const Part& part, const CacheOptions& options);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  // Takes blocks so that the sequence has room for `tokens`. Failure: the cache is full.
  void reserve(std::uint64_t sequence, std::uint32_t tokens);
  // The sequence's blocks in order; none: it is not there.
  [[nodiscard]] std::vector<std::uint32_t> blocks_of(std::uint64_t sequence) const;
  [[nodiscard]] std::vector<std::uint64_t> sequences() const;  // that have blocks
  // Gives its blocks back. No work on them may be in flight.
  void release(std::uint64_t sequence);

  // A layer of the model, in device addresses. `blocks` outlive it.
  [[nodiscard]] KvPlanes planes(unsigned layer, BlockList blocks) const;

 private:
  const Part part_;
  const CacheOptions options_;
  emulated::Memory memory_;
  Layout layout_;
  std::vector<std::uint32_t> free_{};
  std::map<std::uint64_t, std::vector<std::uint32_t>> sequences_{};
};

}  // namespace aqua::pipeline
