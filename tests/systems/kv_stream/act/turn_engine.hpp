// SPDX-License-Identifier: Apache-2.0
// A pipeline stage over a MicrobatchSwap on the emulated device. Its kernels stamp each block that
// they write with microbatch, layer, plane and turn of its writing, and compare every held block
// with its last stamp. Hosts launch ahead: nothing here waits for the device but settle().
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/kv_stream/microbatch_swap.hpp"
#include "aqua/kv_stream/swap.hpp"
#include "aqua/runtime.hpp"

namespace aqua::test {

struct TurnShape {
  std::uint32_t microbatches = 4;
  std::uint32_t blocks = 6;  // of a microbatch
  std::size_t block_bytes = std::size_t{64} << 10;
  unsigned layers = 2, planes = 2;  // of a layer
};

class TurnEngine {
 public:
  using Blocks = std::vector<std::uint32_t>;

  TurnEngine(Runtime& runtime, const TurnShape& shape)
      : runtime_(runtime),
        shape_(shape),
        stream_(*emulated::create_stream(runtime)),
        memory_(*emulated::allocate(
            runtime, kv_stream::swap_buffers(shape.microbatches) * buffer_bytes(shape))),
        swap_(make()),
        stamps_(shape.microbatches, std::vector<std::uint64_t>(shape.blocks, 0)) {}
  ~TurnEngine() {
    settle();
    EXPECT_TRUE(emulated::destroy_stream(runtime_, stream_).ok());
  }
  TurnEngine(const TurnEngine&) = delete;
  TurnEngine& operator=(const TurnEngine&) = delete;

  [[nodiscard]] MicrobatchSwap& swap() { return swap_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] std::vector<Layout> layouts() const {
    std::vector<Layout> all;
    for (std::uint32_t b = 0; b < kv_stream::swap_buffers(shape_.microbatches); ++b) {
      LayoutSpec spec{.layers = shape_.layers,
                      .planes_per_layer = shape_.planes,
                      .block_count = shape_.blocks,
                      .block_stride = shape_.block_bytes,
                      .axes = BlockAxes::whole(shape_.block_bytes)};
      for (unsigned p = 0; p < shape_.layers * shape_.planes; ++p) {
        spec.planes.push_back(plane(b, p));
      }
      all.push_back(Layout::make(spec).value());
    }
    return all;
  }
  [[nodiscard]] std::size_t block_bytes() const {
    return shape_.layers * shape_.planes * shape_.block_bytes;
  }
  [[nodiscard]] std::size_t held(std::uint32_t microbatch) const {
    std::size_t count = 0;
    for (const std::uint64_t stamp : stamps_[microbatch]) count += stamp != 0 ? 1U : 0U;
    return count;
  }

  // One turn, which compares all that the microbatch holds and then writes `writes`. The first call
  // that fails.
  Result<std::uint64_t> turn(std::uint32_t microbatch, const Blocks& writes,
                             std::uint32_t next = MicrobatchSwap::kInOrder) {
    return turn_on(stream_, microbatch, writes, next);
  }
  Result<std::uint64_t> turn_on(Stream stream, std::uint32_t microbatch, const Blocks& writes,
                                std::uint32_t next = MicrobatchSwap::kInOrder) {
    const auto buffer = swap_.begin_turn(stream, microbatch, next);
    if (!buffer.ok()) return buffer.error();
    ++stamp_;
    launch(stream, *buffer, microbatch, writes);
    auto ended = swap_.end_turn(writes);
    if (!ended.ok()) return ended;
    for (const std::uint32_t b : writes) stamps_[microbatch][b] = stamp_;
    return ended;
  }
  void must_turn(std::uint32_t microbatch, const Blocks& writes,
                 std::uint32_t next = MicrobatchSwap::kInOrder) {
    const auto done = turn(microbatch, writes, next);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void must_drop(std::uint32_t microbatch, const Blocks& blocks) {
    ASSERT_TRUE(swap_.drop(microbatch, blocks).ok());
    for (const std::uint32_t b : blocks) stamps_[microbatch][b] = 0;
  }
  void must_clear(std::uint32_t microbatch) {
    const auto cleared = swap_.clear(microbatch);
    ASSERT_TRUE(cleared.ok()) << cleared.error().message;
    forget(microbatch);
  }
  void forget(std::uint32_t microbatch) { stamps_[microbatch].assign(shape_.blocks, 0); }
  // The stream's kernels from here on wait until the gate is opened.
  void launch_gate(std::function<void()> gate) {
    ASSERT_TRUE(emulated::launch(runtime_, stream_, std::move(gate)).ok());
  }
  void settle() { EXPECT_TRUE(emulated::synchronize(runtime_, stream_).ok()); }
  // Words read that were not the last ones written, so far.
  [[nodiscard]] std::uint64_t wrong() {
    settle();
    return *wrong_;
  }

 private:
  static std::size_t buffer_bytes(const TurnShape& shape) {
    return shape.layers * shape.planes * shape.blocks * shape.block_bytes;
  }
  [[nodiscard]] std::byte* plane(std::uint32_t buffer, std::size_t number) const {
    return memory_.data() + buffer * buffer_bytes(shape_) +
           number * shape_.blocks * shape_.block_bytes;
  }
  MicrobatchSwap make() {
    auto made = MicrobatchSwap::create(runtime_,
                                       {.microbatches = shape_.microbatches, .buffers = layouts()});
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message;
      std::abort();
    }
    return std::move(*made);
  }
  static std::uint64_t word(std::uint64_t stamp, std::uint32_t microbatch, std::size_t plane,
                            std::size_t block, std::size_t at) {
    return (((stamp * 257 + microbatch) * 31 + plane) * 1021 + block) * 0x9e3779b97f4a7c15u + at;
  }
  void launch(Stream stream, std::uint32_t buffer, std::uint32_t microbatch, const Blocks& writes) {
    std::vector<std::byte*> planes;
    for (unsigned p = 0; p < shape_.layers * shape_.planes; ++p) planes.push_back(plane(buffer, p));
    const auto kernel = [=, stamps = stamps_[microbatch], wrong = wrong_, stamp = stamp_,
                         bytes = shape_.block_bytes] {
      for (std::size_t p = 0; p < planes.size(); ++p) {
        std::byte* const base = emulated::kernel_view(planes[p]);
        for (std::size_t b = 0; b < stamps.size(); ++b) {
          for (std::size_t at = 0; stamps[b] != 0 && at < bytes; at += 8) {
            std::uint64_t found = 0;
            std::memcpy(&found, base + b * bytes + at, 8);
            *wrong += found != word(stamps[b], microbatch, p, b, at);
          }
        }
        for (const std::uint32_t b : writes) {
          for (std::size_t at = 0; at < bytes; at += 8) {
            const std::uint64_t news = word(stamp, microbatch, p, b, at);
            std::memcpy(base + b * bytes + at, &news, 8);
          }
        }
      }
    };
    ASSERT_TRUE(emulated::launch(runtime_, stream, kernel).ok());
  }

  Runtime& runtime_;
  const TurnShape shape_;
  const Stream stream_;
  const emulated::Memory memory_;
  MicrobatchSwap swap_;
  std::vector<std::vector<std::uint64_t>> stamps_;  // by microbatch and block; 0: not held
  std::uint64_t stamp_ = 0;                         // of the turn
  std::shared_ptr<std::atomic<std::uint64_t>> wrong_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace aqua::test
