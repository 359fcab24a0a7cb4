// SPDX-License-Identifier: Apache-2.0
// KvCache: the toy engine's paged KV cache on its emulated GPU, flat: one plane of keys and one of
// values per layer, and the list of blocks that no sequence uses, least recently used first.
//
// Threads: the engine's. Owns: the planes. The runtime outlives it.
#pragma once

#include <deque>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "kv_memory.hpp"
#include "stamps.hpp"

namespace aqua::example {

class KvCache final : public KvMemory {
 public:
  // Throws Failure when the device has no room for `blocks`.
  KvCache(Runtime& runtime, std::uint32_t blocks);

  [[nodiscard]] BlockIds take(std::uint64_t sequence, std::uint32_t count) override;
  void give_back(std::uint64_t sequence, BlockIds& blocks) override;
  [[nodiscard]] std::uint32_t blocks() const override { return blocks_; }

  [[nodiscard]] Ticket offload(BlockList blocks, AquaTensor& tensor, Stream stream) override;
  [[nodiscard]] Ticket fetch(AquaTensor& tensor, BlockList blocks, Stream stream) override;
  void check_fetched(Stream stream, CheckOrder order) override;

  [[nodiscard]] std::uint64_t step(Stream stream, StepWork work, const StepLoad& load) override;
  // Its bytes are where the kernels wrote them.
  [[nodiscard]] bool step_done(std::uint64_t) override { return true; }

 private:
  Runtime& runtime_;
  std::uint32_t blocks_;
  std::uint64_t steps_ = 0;
  std::vector<emulated::Memory> memory_;  // a plane each
  CacheGeometry geometry_;
  Layout layout_;
  std::deque<std::uint32_t> free_;
};

}  // namespace aqua::example
