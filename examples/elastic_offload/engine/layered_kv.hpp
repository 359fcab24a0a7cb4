// SPDX-License-Identifier: Apache-2.0
// LayeredKv: the toy engine's KV in a LayerPool, in fewer frames than there are layers, so that the
// same memory holds more blocks. The frames change while it serves: as the pool proposes, where it
// has a goal, and by chance for as long as change_until() asks for more changes.
//
// Each step compares all that its sequences have in their blocks, layer by layer, before it writes.
//
// A change to fewer blocks lowers blocks() and waits until the scheduler has made room; or, by
// chance, happens at once: then KvChange names the sequences that must go.
//
// Threads: the engine's; change() waits as LayerPool::resize() does.
// Owns:    the pool. The runtime outlives it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

#include "aqua/emulated.hpp"
#include "aqua/layer_swap/layer_pool.hpp"
#include "kv_memory.hpp"
#include "resize_dice.hpp"

namespace aqua::example {

struct LayeredOptions {
  std::size_t device_bytes = 0;
  std::uint32_t frames = 0;                 // at first; 0: as many as layers
  std::string goal{};                       // of LayerPoolOptions
  std::uint32_t least_frames = 6;           // of changes by chance
  std::uint64_t seed = 1;                   // of these
  std::chrono::microseconds layer_time{0};  // that a layer's kernels take at least
};

class LayeredKv final : public KvMemory {
 public:
  // Throws Failure when there is no room, in frames or away.
  LayeredKv(Runtime& runtime, const LayeredOptions& options);

  [[nodiscard]] BlockIds take(std::uint64_t sequence, std::uint32_t count) override;
  void give_back(std::uint64_t sequence, BlockIds& blocks) override;
  [[nodiscard]] std::uint32_t blocks() const override;

  [[nodiscard]] Ticket offload(BlockList blocks, AquaTensor& tensor, Stream stream) override;
  [[nodiscard]] Ticket fetch(AquaTensor& tensor, BlockList blocks, Stream stream) override;
  // By the first step that begins once it has arrived: kernels see layers within steps only.
  void check_fetched(Stream stream, CheckOrder order) override;

  // 0 where there was nothing to do.
  [[nodiscard]] std::uint64_t step(Stream stream, StepWork work, const StepLoad& load) override;
  [[nodiscard]] bool step_done(std::uint64_t step) override;
  [[nodiscard]] KvChange change(Stream stream) override;
  void change_until(std::uint64_t resizes) override { wanted_resizes_ = resizes; }

  [[nodiscard]] ExpansionStats stats() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Arriving {
    CheckOrder order;
    std::shared_ptr<std::atomic<bool>> arrived;
  };
  // What kernels of steps found.
  struct Found {
    std::atomic<std::uint64_t> bytes{0}, mismatched{0};
  };
  struct Lists {
    BlockIds reads{}, writes{};
  };

  [[nodiscard]] LayerPool make_pool(Runtime& runtime, const LayeredOptions& options);
  void follow(const LayerPoolResize& news);
  void take_arrived(std::vector<CheckOrder>& checks);
  [[nodiscard]] Lists lists_of(const StepWork& work) const;
  [[nodiscard]] std::function<void()> kernel(std::shared_ptr<const StepWork> work,
                                             std::uint32_t layer,
                                             std::span<std::byte* const> planes) const;
  void choose();
  void note_frames();

  Runtime& runtime_;
  const LayeredOptions options_;
  LayerPool pool_;
  layer_swap::BlockPool list_;
  ResizeDice dice_;
  std::vector<Arriving> arriving_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();

  std::uint64_t wanted_resizes_ = 0;
  std::uint32_t steps_to_change_ = 0;      // before the next one by chance
  std::optional<std::uint32_t> target_{};  // frames of one by chance that is under way
  bool at_once_ = false;                   // it does not wait for the scheduler
  std::uint32_t limit_;                    // blocks that are to be enough for the scheduler
  KvChange news_{};

  const Clock::time_point began_ = Clock::now();
  ExpansionStats stats_;
};

}  // namespace aqua::example
