// SPDX-License-Identifier: Apache-2.0
// Two runtimes on two GPUs: what lend_borrow_test shows with emulated ones, and an ElasticPool.
// With one GPU both runtimes are on it: the link is then its own memory.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "aqua/elastic_pool.hpp"
#include "aqua/layout.hpp"
#include "aqua/side_stream.hpp"
#include "aqua/types.hpp"
#include "base/internals.hpp"
#include "device/cuda/device.hpp"
#include "runtime/impl.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;
using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i >> 3) * 31 + i + seed);
  return out;
}

class GpuRuntime : public test::RuntimeFixture {
 protected:
  void SetUp() override {
    if (const auto gpu = device::cuda_available(); !gpu.ok()) GTEST_SKIP() << gpu.error().message;
    if (device::open_cuda({.device = "cuda:1"}).ok()) return;
    second_ = "cuda:0";
    stop_daemon();
    one_device_ = true;
    start_daemon();
  }
  std::optional<Runtime> open_gpu(const char* device, const char* name, std::size_t peer_bytes) {
    RuntimeOptions options;
    options.device = device;
    options.name = name;
    options.host_bytes = 64_MiB;
    options.max_peer_bytes = peer_bytes;
    options.curve_directory = "off";
    return open(options);
  }
  const char* second_ = "cuda:1";

  static void copy(Runtime& runtime, std::byte* dst, const std::byte* src, std::size_t bytes) {
    device::Device& device = detail::Internals::impl(runtime).device();
    const auto done = device.create_event().value();
    auto batch = std::make_shared<const std::vector<device::CopySegment>>(
        std::vector<device::CopySegment>{{dst, src, bytes}});
    ASSERT_TRUE(device.copy(std::move(batch), Stream{}).ok());
    ASSERT_TRUE(device.record(*done, Stream{}).ok());
    ASSERT_TRUE(device.synchronize(*done).ok());
  }
  static void fill(Runtime& runtime, AquaTensor& tensor, unsigned seed) {
    auto pin = tensor.pin(Access::write, Stream{});
    ASSERT_TRUE(pin.ok()) << pin.error().message;
    const Bytes bytes = pattern(pin->bytes(), seed);
    copy(runtime, pin->data(), bytes.data(), bytes.size());
  }
  static bool holds(Runtime& runtime, AquaTensor& tensor, unsigned seed) {
    auto pin = tensor.pin(Access::read, Stream{});
    if (!pin.ok()) return false;
    Bytes bytes(pin->bytes());
    copy(runtime, bytes.data(), pin->data(), bytes.size());
    return bytes == pattern(bytes.size(), seed);
  }
};

TEST_F(GpuRuntime, TensorsLieInLentMemoryAndComeHomeWhole) {
  auto lender = open_gpu("cuda:0", "lender", 0);
  auto borrower = open_gpu(second_, "borrower", 32_MiB);
  ASSERT_TRUE(lender->lend(32_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 32_MiB; });
  std::vector<AquaTensor> tensors;
  for (unsigned i = 0; i < 12; ++i) {
    auto tensor = borrower->allocate({.bytes = 1_MiB + 4096 * i, .name = "t"});
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(tensor->tier(), Tier::peer);
    fill(*borrower, *tensor, i);
    tensors.push_back(std::move(tensor).value());
  }
  auto reclaim = lender->reclaim(32_MiB, milliseconds(10'000));
  ASSERT_TRUE(reclaim.ok());
  const auto outcome = reclaim->wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->bytes_returned, 32_MiB);
  for (unsigned i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].tier(), Tier::host);
    EXPECT_TRUE(holds(*borrower, tensors[i], i)) << i;
  }
}

TEST_F(GpuRuntime, AnElasticPoolLendsItsTailAndKeepsTheRestAndItsAddresses) {
  auto lender = open_gpu("cuda:0", "lender", 0);
  auto borrower = open_gpu(second_, "borrower", 32_MiB);
  auto pool = ElasticPool::create(
      *lender, {.planes = 2, .plane_bytes = 8_MiB, .slab_bytes = 2_MiB, .filler = true});
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  const Bytes kept = pattern(4_MiB, 5);
  std::byte* const plane = pool->plane(1);
  copy(*lender, plane, kept.data(), kept.size());
  ASSERT_TRUE(pool->lend(2, Stream{}).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 8_MiB; });
  Bytes seen(kept.size());
  copy(*lender, seen.data(), plane, seen.size());
  EXPECT_TRUE(seen == kept);
  copy(*lender, seen.data(), plane + 4_MiB, seen.size());
  EXPECT_TRUE(seen == Bytes(seen.size())) << "the filler stands in for what is lent";

  auto reclaim = lender->reclaim(8_MiB, milliseconds(10'000));
  ASSERT_TRUE(reclaim.ok());
  ASSERT_TRUE(reclaim->wait().ok());
  await([&] { return pool->lent_quanta() == 0; });
  EXPECT_EQ(pool->plane(1), plane);
  copy(*lender, plane + 4_MiB, kept.data(), kept.size());
  copy(*lender, seen.data(), plane + 4_MiB, seen.size());
  EXPECT_TRUE(seen == kept) << "mapped again";
}

TEST_F(GpuRuntime, AStreamOfTheOtherGpuIsRefusedAndNothingIsQueuedThere) {
  if (one_device_) GTEST_SKIP() << "there is one GPU here";
  auto ours = open_gpu("cuda:0", "ours", 0);
  auto other = open_gpu(second_, "other", 0);
  SideStream theirs = SideStream::create(*other).value();
  Bytes cache = pattern(1_MiB, 7);
  const Layout layout = Layout::make(LayoutSpec{.layers = 1,
                                                .planes_per_layer = 1,
                                                .planes = {cache.data()},
                                                .block_count = 16,
                                                .block_stride = 64_KiB,
                                                .axes = BlockAxes::whole(64_KiB)})
                            .value();
  const std::vector<std::uint32_t> blocks{1, 3, 5, 14};
  auto tensor = ours->allocate({.bytes = layout.packed_bytes(blocks.size()), .name = "t"});
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  fill(*ours, *tensor, 8);
  const auto offloaded = ours->offload(layout, blocks, *tensor, theirs.stream());
  ASSERT_FALSE(offloaded.ok());
  EXPECT_EQ(offloaded.error().code, Code::invalid_argument) << offloaded.error().message;
  const auto fetched = ours->fetch(*tensor, layout, blocks, theirs.stream());
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::invalid_argument) << fetched.error().message;
  ASSERT_TRUE(theirs.wait().ok());
  EXPECT_TRUE(holds(*ours, *tensor, 8));
  EXPECT_TRUE(cache == pattern(1_MiB, 7));
}

}  // namespace
}  // namespace aqua
