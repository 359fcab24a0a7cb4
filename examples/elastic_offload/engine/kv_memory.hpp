// SPDX-License-Identifier: Apache-2.0
// KvMemory: the blocks in which an engine's sequences have their KV on its device, and the passes
// through a model that work on them. There are two kinds: a flat cache (kv_cache.hpp), and layers
// in fewer frames than there are layers (layered_kv.hpp).
//
// Threads: the engine's. Errors: every method throws Failure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"
#include "cache_shape.hpp"
#include "check.hpp"
#include "expansion_stats.hpp"

namespace aqua::example {

using BlockIds = std::vector<std::uint32_t>;

// One pass through all layers: what its kernels write, and then compare.
struct StepWork {
  std::vector<Writing> writings{};
  std::vector<CheckOrder> checks{};
};

// What became of the sequences when the number of blocks changed.
struct KvChange {
  std::vector<std::uint64_t> preempt{};        // must give their blocks back
  std::vector<layer_swap::BlockMove> moved{};  // have their bytes in other blocks now
};

class KvMemory {
 public:
  KvMemory() = default;
  KvMemory(const KvMemory&) = delete;
  KvMemory& operator=(const KvMemory&) = delete;
  virtual ~KvMemory() = default;

  // `count` blocks more for a sequence; there must be that many.
  [[nodiscard]] virtual BlockIds take(std::uint64_t sequence, std::uint32_t count) = 0;
  // All of a sequence's blocks; empties its list.
  virtual void give_back(std::uint64_t sequence, BlockIds& blocks) = 0;
  // That sequences may have in all; another number only after change().
  [[nodiscard]] virtual std::uint32_t blocks() const = 0;

  // Copies in the packed form, in order with `stream`.
  [[nodiscard]] virtual Ticket offload(BlockList blocks, AquaTensor& tensor, Stream stream) = 0;
  [[nodiscard]] virtual Ticket fetch(AquaTensor& tensor, BlockList blocks, Stream stream) = 0;
  // Compares what a fetch on `stream` brings. It may take a step until that is done.
  virtual void check_fetched(Stream stream, CheckOrder order) = 0;

  // Posts a pass to `stream` and answers its number.
  [[nodiscard]] virtual std::uint64_t step(Stream stream, StepWork work, const StepLoad& load) = 0;
  // Whether all that the step read and wrote is safe: from then on its tokens count.
  [[nodiscard]] virtual bool step_done(std::uint64_t step) = 0;
  // Between steps whose kernels are over: changes the number of blocks, where it is time. Call it
  // before each step, and see to it that what it says is done.
  [[nodiscard]] virtual KvChange change(Stream) { return {}; }

  [[nodiscard]] virtual ExpansionStats stats() const { return {}; }
  // Asks for changes until there were at least so many in all.
  virtual void change_until(std::uint64_t) {}
};

}  // namespace aqua::example
