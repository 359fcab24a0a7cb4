// SPDX-License-Identifier: Apache-2.0
// An engine over a LayerPool on the emulated device. Its kernels stamp each block that they write
// with layer, plane, block and step of its writing, and compare every block that they read with its
// last stamp. Hosts launch ahead: nothing here waits for the device but settle().
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"

namespace aqua::test {

// A LayerPool's, for tests that hold for all.
inline const auto schedules = ::testing::Values("fixed", "fifo");
inline std::string schedule_name(const ::testing::TestParamInfo<const char*>& schedule) {
  return schedule.param;
}

class SwapEngine {
 public:
  using Blocks = std::vector<std::uint32_t>;

  SwapEngine(Runtime& runtime, const LayerPoolOptions& options)
      : runtime_(runtime),
        options_(options),
        stream_(*emulated::create_stream(runtime)),
        pool_(make(runtime, options)),
        stamps_(pool_.usable_blocks(3)) {}
  ~SwapEngine() {
    settle();
    EXPECT_TRUE(emulated::destroy_stream(runtime_, stream_).ok());
  }
  SwapEngine(const SwapEngine&) = delete;
  SwapEngine& operator=(const SwapEngine&) = delete;

  [[nodiscard]] LayerPool& pool() { return pool_; }
  [[nodiscard]] Stream stream() const { return stream_; }

  // Every block with a stamp.
  [[nodiscard]] Blocks stamped() const {
    Blocks all;
    for (std::uint32_t b = 0; b < stamps_.size(); ++b) {
      if (stamps_[b] != 0) all.push_back(b);
    }
    return all;
  }
  // The blocks past those that are usable have nothing that is needed.
  void forget_past_end() {
    for (std::uint32_t b = pool_.usable_blocks(); b < stamps_.size(); ++b) stamps_[b] = 0;
  }
  // Stamps of blocks that leave the pool, and (set_stamps()) of those that come back to it.
  [[nodiscard]] Blocks stamps_of(const Blocks& blocks) const {
    Blocks stamps;
    for (const std::uint32_t b : blocks) stamps.push_back(stamps_[b]);
    return stamps;
  }
  void set_stamps(const Blocks& blocks, const Blocks& stamps) {
    for (std::size_t i = 0; i < blocks.size(); ++i) stamps_[blocks[i]] = stamps[i];
  }
  void forget(const Blocks& blocks) { set_stamps(blocks, Blocks(blocks.size())); }
  void forget_all() { stamps_.assign(stamps_.size(), 0); }
  void moved(const std::vector<layer_swap::BlockMove>& moves) {
    for (const auto& move : moves) stamps_[move.to] = std::exchange(stamps_[move.from], 0U);
  }
  // What the kernels of a layer take, and compute nothing.
  void set_compute(std::chrono::microseconds time) { compute_ = time; }
  // The host waits for a layer's kernels before it begins the next.
  void set_in_step(bool in_step) { in_step_ = in_step; }

  // One step that reads `reads` and then writes `writes`, in every layer. The first call that
  // fails.
  Result<std::uint64_t> step(const Blocks& reads, const Blocks& writes, const StepLoad& load = {}) {
    if (auto begun = pool_.begin_step(stream_, reads, writes); !begun.ok()) return begun.error();
    ++stamp_;
    for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
      if (in_step_) settle();
      auto planes = pool_.begin_layer(layer);
      if (!planes.ok() && goes_on_after && goes_on_after(layer, planes.error()))
        planes = pool_.begin_layer(layer);
      if (!planes.ok()) return planes.error();
      EXPECT_EQ(pool_.planes(layer).data(), planes->data());
      launch(layer, *planes, reads, writes);
      auto ended = pool_.end_layer(layer);
      if (!ended.ok() && goes_on_after && goes_on_after(layer, ended.error()))
        ended = pool_.end_layer(layer);
      if (!ended.ok()) return ended.error();
    }
    for (const std::uint32_t b : writes) stamps_[b] = stamp_of(stamp_, b);
    return pool_.end_step(load);
  }
  // Reads all that has a stamp and writes `writes`.
  void must_step(const Blocks& writes) {
    const auto done = step(stamped(), writes);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  // Words of a tensor that are not blocks with these stamps, in the packed form.
  [[nodiscard]] std::uint64_t wrong_in(AquaTensor& tensor, const Blocks& stamps) {
    std::uint64_t wrong = 0;
    const auto pin = tensor.pin(Access::read, stream_);
    EXPECT_TRUE(pin.ok());
    const auto kernel = [&, base = pin->data()] {
      const std::byte* at = emulated::kernel_view(base);
      for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
        for (std::size_t p = 0; p < options_.planes_per_layer; ++p) {
          for (std::size_t i = 0; i < stamps.size(); ++i, at += options_.block_bytes) {
            for (std::size_t w = 0; w < options_.block_bytes; w += 8) {
              std::uint64_t found = 0;
              std::memcpy(&found, at + w, 8);
              wrong += found != word(stamps[i], layer, p, w);
            }
          }
        }
      }
    };
    EXPECT_TRUE(emulated::launch(runtime_, stream_, kernel).ok());
    settle();
    return wrong;
  }
  // Whether a step calls a begin_layer() or end_layer() that has failed again.
  std::function<bool(std::uint32_t layer, const Error&)> goes_on_after{};
  void settle() { EXPECT_TRUE(emulated::synchronize(runtime_, stream_).ok()); }
  // Words read that were not the last ones written, so far.
  [[nodiscard]] std::uint64_t wrong() {
    settle();
    return *wrong_;
  }

 private:
  static LayerPool make(Runtime& runtime, const LayerPoolOptions& options) {
    auto pool = LayerPool::create(runtime, options);
    if (!pool.ok()) {
      ADD_FAILURE() << pool.error().message;
      std::abort();
    }
    return std::move(*pool);
  }
  static std::uint64_t word(std::uint64_t stamp, std::uint32_t layer, std::size_t plane,
                            std::size_t at) {
    return ((stamp * 257 + layer) * 7 + plane) * 0x9e3779b97f4a7c15u + at;
  }
  // The stamp of a block that this step writes; the block keeps it wherever it is copied.
  static std::uint32_t stamp_of(std::uint32_t step, std::uint32_t block) {
    return step * 4096 + block;
  }
  void launch(std::uint32_t layer, std::span<std::byte* const> planes, const Blocks& reads,
              const Blocks& writes) {
    const Blocks before = stamps_of(reads);
    const std::vector<std::byte*> bases(planes.begin(), planes.end());
    const auto kernel = [=, wrong = wrong_, step = stamp_, bytes = options_.block_bytes,
                         compute = compute_] {
      std::this_thread::sleep_for(compute);
      for (std::size_t p = 0; p < bases.size(); ++p) {
        std::byte* const base = emulated::kernel_view(bases[p]);
        for (std::size_t i = 0; i < reads.size(); ++i) {
          for (std::size_t at = 0; at < bytes; at += 8) {
            std::uint64_t found = 0;
            std::memcpy(&found, base + reads[i] * bytes + at, 8);
            *wrong += found != word(before[i], layer, p, at);
          }
        }
        for (const std::uint32_t b : writes) {
          for (std::size_t at = 0; at < bytes; at += 8) {
            const std::uint64_t news = word(stamp_of(step, b), layer, p, at);
            std::memcpy(base + b * bytes + at, &news, 8);
          }
        }
      }
    };
    ASSERT_TRUE(emulated::launch(runtime_, stream_, kernel).ok());
  }

  Runtime& runtime_;
  const LayerPoolOptions options_;
  const Stream stream_;
  LayerPool pool_;
  Blocks stamps_;            // of each block, by what was written last; 0: none
  std::uint32_t stamp_ = 0;  // the step's
  std::chrono::microseconds compute_{0};
  bool in_step_ = false;
  std::shared_ptr<std::atomic<std::uint64_t>> wrong_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace aqua::test
