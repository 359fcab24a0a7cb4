// SPDX-License-Identifier: Apache-2.0
// LayerPool on a GPU: slabs that are mapped in several planes, whose bytes copies put there and
// look at in place of kernels. The same on an emulated GPU, which shows that the test is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"
#include "aqua/side_stream.hpp"
#include "base/internals.hpp"
#include "device/cuda/device.hpp"
#include "runtime/impl.hpp"
#include "tests/base/eventually.hpp"
#include "tests/transfer/engine_work.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using Blocks = std::vector<std::uint32_t>;

// Two slabs a layer with a frame for each, four with three frames: 8 to 16 blocks.
const LayerPoolOptions kGpuOptions{
    .layers = 6, .planes_per_layer = 1, .block_bytes = 512_KiB, .device_bytes = 24_MiB};

constexpr std::size_t kHostBytes = 128_MiB;

class GpuLayerPool : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string device = GetParam();
    const auto gpu = device::cuda_available();
    if (device.starts_with("cuda") && !gpu.ok()) GTEST_SKIP() << gpu.error().message;
    auto opened = Runtime::open({.device = device,
                                 .coordinator = "none",
                                 .host_bytes = kHostBytes,
                                 .curve_directory = "off",
                                 .emulated = {.total_bytes = 32_MiB, .hostile = true}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    stream_.emplace(*SideStream::create(*runtime_));
    pool_.emplace(*LayerPool::create(*runtime_, kGpuOptions));
  }
  void TearDown() override {
    if (!stream_) return;
    EXPECT_TRUE(stream_->wait().ok());
    pool_.reset();
  }
  // A step that looks at every block that was written, and writes these.
  void step(const Blocks& writes) {
    written_.resize(pool_->usable_blocks());
    Blocks reads;
    for (std::uint32_t b = 0; b < written_.size(); ++b) {
      if (written_[b] != 0) reads.push_back(b);
    }
    ++step_;
    ASSERT_TRUE(pool_->begin_step(stream_->stream(), reads, writes).ok());
    for (std::uint32_t layer = 0; layer < kGpuOptions.layers; ++layer) {
      const auto planes = pool_->begin_layer(layer);
      ASSERT_TRUE(planes.ok()) << planes.error().message;
      for (const std::uint32_t b : reads) look(at((*planes)[0], b), value(layer, b, written_[b]));
      for (const std::uint32_t b : writes) {
        const std::byte* const from = keep(value(layer, b, step_));
        copy(at((*planes)[0], b), from);
      }
      ASSERT_TRUE(pool_->end_layer(layer).ok());
    }
    for (const std::uint32_t b : writes) written_[b] = step_;
    ASSERT_TRUE(pool_->end_step().ok());
  }
  // Blocks that were not as they should be, of all looked at so far.
  [[nodiscard]] std::size_t wrong() {
    EXPECT_TRUE(stream_->wait().ok());
    const auto count = std::count_if(looked_.begin(), looked_.end(), [](const Looked& looked) {
      const std::byte* const bytes = looked.bytes.get();  // all alike, and as the first
      return bytes[0] != looked.expected ||
             std::memcmp(bytes, bytes + 1, kGpuOptions.block_bytes - 1) != 0;
    });
    looked_.clear();
    kept_.clear();
    return static_cast<std::size_t>(count);
  }
  // Whether the call returns while the engine's stream is held. It is let go in any case. Copies of
  // host memory that is not page-locked yet may block their caller: that is awaited first.
  template <typename Call>
  [[nodiscard]] bool returns_meanwhile(const Call& call) {
    auto& runtime = detail::Internals::impl(*runtime_);
    EXPECT_TRUE(test::eventually([&] {
      return runtime.device().info().kind != device::Kind::cuda ||
             runtime.pinned_bytes() >= kHostBytes;
    }));
    test::Gate gate(runtime.device(), stream_->stream());
    auto called = std::async(std::launch::async, call);
    const auto returned = called.wait_for(std::chrono::seconds(20));
    gate.open();
    const auto ticket = called.get();
    EXPECT_TRUE(ticket.ok()) << ticket.error().message;
    return returned == std::future_status::ready;
  }
  [[nodiscard]] Blocks all() const {
    Blocks blocks(pool_->usable_blocks());
    std::iota(blocks.begin(), blocks.end(), 0U);
    return blocks;
  }

  std::optional<Runtime> runtime_;
  std::optional<SideStream> stream_;  // the engine's
  std::optional<LayerPool> pool_;
  std::vector<unsigned> written_;  // the step that wrote each block last; 0: none

 private:
  using Bytes = std::unique_ptr<std::byte[]>;
  struct Looked {
    Bytes bytes;
    std::byte expected;
  };
  static std::byte value(std::uint32_t layer, std::uint32_t block, unsigned step) {
    return static_cast<std::byte>(layer * 37 + block * 11 + step * 3 + 1);
  }
  static std::byte* at(std::byte* plane, std::uint32_t block) {
    return plane + block * kGpuOptions.block_bytes;
  }
  void copy(std::byte* dst, const std::byte* src) {
    auto batch = std::make_shared<const std::vector<device::CopySegment>>(
        std::vector<device::CopySegment>{{dst, src, kGpuOptions.block_bytes}});
    device::Device& device = detail::Internals::impl(*runtime_).device();
    ASSERT_TRUE(device.copy(std::move(batch), stream_->stream()).ok());
  }
  void look(const std::byte* src, std::byte expected) {
    looked_.push_back(
        {std::make_unique_for_overwrite<std::byte[]>(kGpuOptions.block_bytes), expected});
    copy(looked_.back().bytes.get(), src);
  }
  const std::byte* keep(std::byte byte) {
    kept_.push_back(std::make_unique_for_overwrite<std::byte[]>(kGpuOptions.block_bytes));
    std::memset(kept_.back().get(), std::to_integer<int>(byte), kGpuOptions.block_bytes);
    return kept_.back().get();
  }

  unsigned step_ = 0;
  std::vector<Looked> looked_;
  std::vector<Bytes> kept_;  // until the copies from them are over
};

TEST_P(GpuLayerPool, LayersThatShareMemoryHaveTheirOwnBytesInTheirTurn) {
  ASSERT_TRUE(pool_->resize(4).ok());
  step(all());
  for (std::uint32_t i = 0; i < 3; ++i) step({i, i + 4});
  EXPECT_EQ(wrong(), 0U);
}

// Also where both places of a copy are host memory: of layers that are away.
TEST_P(GpuLayerPool, ASequenceIsCopiedOutAndComesBackAndNobodyWaits) {
  ASSERT_TRUE(pool_->resize(4).ok());
  step(all());
  AquaTensor tensor = *runtime_->allocate({.bytes = pool_->packed_bytes(2)});
  const Stream stream = stream_->stream();
  const Blocks two{0, 5};
  EXPECT_TRUE(returns_meanwhile([&] { return pool_->offload(two, tensor, stream); }));
  step(two);
  EXPECT_TRUE(returns_meanwhile([&] { return pool_->fetch(tensor, two, stream); }));
  written_[0] = written_[5] = 1;
  step({});
  EXPECT_EQ(wrong(), 0U);
}

TEST_P(GpuLayerPool, FramesChangeUnderTheSameAddresses) {
  const std::byte* const plane = pool_->planes(2)[0];
  step(all());
  for (const std::uint32_t frames : {3U, 5U, 4U, 6U}) {
    ASSERT_TRUE(pool_->resize(frames).ok());
    step({1});
    step({7});
    EXPECT_EQ(wrong(), 0U) << frames << " frames";
  }
  EXPECT_EQ(pool_->planes(2)[0], plane);
}

INSTANTIATE_TEST_SUITE_P(Devices, GpuLayerPool, ::testing::Values("emu:0", "cuda:0"),
                         [](const auto& device) {
                           return std::string(device.param).substr(0, 3) == "emu" ? "emulated"
                                                                                  : "cuda";
                         });

}  // namespace
}  // namespace aqua
