// SPDX-License-Identifier: Apache-2.0
// A runtime whose copies do not go as planned: its status counts why, and its log says so once.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "aqua/runtime.hpp"
#include "device/cuda/device.hpp"
#include "tests/device/cuda/stand_in/stand_in.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;

// The warnings of a runtime that have some words in them.
class Warnings {
 public:
  explicit Warnings(std::string words) : words_(std::move(words)) {}
  void add(LogLevel level, const std::string& line) {
    const std::lock_guard lock(mu_);
    if (level == LogLevel::warning && line.find(words_) != std::string::npos) ++count_;
    changed_.notify_all();
  }
  // Waits for the first.
  std::size_t count() {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, std::chrono::minutes(1), [&] { return count_ > 0; });
    return count_;
  }

 private:
  const std::string words_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

// Thousands of blocks of a cache that the engine has in pageable memory, which only copy engines
// reach: whatever is planned goes a command a block.
TEST(FallbackTold, OfACacheOutOfTheGpusReach) {
  if (const auto gpu = device::cuda_available(); !gpu.ok()) GTEST_SKIP() << gpu.error().message;
  if (stand_in::hooks() == nullptr) GTEST_SKIP() << "the driver here is a real one";
  Warnings warnings("not known to be in the GPU's reach");
  RuntimeOptions options;
  options.device = "cuda:0";
  options.host_bytes = 16_MiB;
  options.curve_directory = "off";
  options.callbacks.on_log = [&](LogLevel level, const std::string& line) {
    warnings.add(level, line);
  };
  auto runtime = Runtime::open(options);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  constexpr std::uint32_t kBlocks = 2'000;
  std::vector<std::byte> cache(2 * kBlocks * 1_KiB);
  LayoutSpec spec{.layers = 1,
                  .planes_per_layer = 1,
                  .planes = {cache.data()},
                  .block_count = 2 * kBlocks,
                  .block_stride = 1_KiB,
                  .axes = BlockAxes::whole(1_KiB)};
  const Layout layout = Layout::make(spec).value();
  auto tensor = runtime->allocate({.bytes = layout.packed_bytes(kBlocks), .name = "t"});
  ASSERT_TRUE(tensor.ok());
  const Stream stream{};
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0; i < kBlocks; ++i) blocks.push_back(2 * i);
  EXPECT_EQ(runtime->status().copies.unreachable, 0U);
  for (int round = 0; round < 2; ++round) {
    auto ticket = runtime->offload(layout, blocks, *tensor, stream);
    ASSERT_TRUE(ticket.ok()) << ticket.error().message;
    ASSERT_TRUE(ticket->wait().ok());
  }
  EXPECT_GT(runtime->status().copies.unreachable, 0U);
  EXPECT_GT(runtime->status().copies.each, 0U);
  EXPECT_EQ(warnings.count(), 1U);
}

}  // namespace
}  // namespace aqua
