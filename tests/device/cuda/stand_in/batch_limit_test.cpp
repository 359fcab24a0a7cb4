// SPDX-License-Identifier: Apache-2.0
// Batched copies: few at a time, and none any more after one that hung.
#include "device/cuda/batch/batch_limit.hpp"

#include <cuda.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"

namespace aqua::device {
namespace {

class Batches : public OnStandIn {
 protected:
  // `count` copies of 16 bytes that are nobody's neighbours.
  static CopyBatch pieces(std::byte* dst, const std::byte* src, std::size_t count) {
    auto batch = std::make_shared<std::vector<CopySegment>>();
    for (std::size_t i = 0; i < count; ++i) batch->push_back({dst + 32 * i, src + 32 * i, 16});
    return batch;
  }
  // A device for which whatever has begun and not ended hangs.
  static std::unique_ptr<Device> impatient() {
    return open_cuda({.total_bytes = 16_MiB, .batch_patience = std::chrono::milliseconds(0)})
        .value();
  }
  std::uint64_t gate(Stream stream) {
    return driver_->gate(reinterpret_cast<void*>(stream.native));
  }
  // The event behind the last command is said not to be reached, though the one before it is.
  CopyCounts look_while_it_hangs(Device& device) {
    driver_->fail("cuEventQuery", 0, 1, CUDA_ERROR_NOT_READY);
    return device.copy_counts();
  }
};

TEST_F(Batches, OfManyCopiesTheLastGoEachAndEveryByteArrives) {
  constexpr std::size_t kCount = BatchLimit::kCopiesInFlight + 100;
  const Place from = make_place(*device_, 2_MiB);
  const Place to = make_place(*device_, 2_MiB);
  const auto source = pattern(32 * kCount, 1);
  upload(*device_, from.base(), source);
  const Stream stream = device_->create_stream().value();
  const std::uint64_t closed = gate(stream);
  const CopyCounts before = device_->copy_counts();
  const std::size_t commands = driver_->calls("cuMemcpyBatchAsync");
  EXPECT_OK(device_->copy(pieces(to.base(), from.base(), kCount), stream,
                          {.method = CopyMethod::batched}));
  EXPECT_EQ(driver_->calls("cuMemcpyBatchAsync") - commands,
            BatchLimit::kCopiesInFlight / BatchLimit::kCopies);
  const CopyCounts counts = device_->copy_counts();
  EXPECT_EQ(counts.batched, before.batched + 1);
  EXPECT_EQ(counts.each, before.each + 1);
  EXPECT_EQ(counts.full, before.full + 1);
  driver_->open(closed);
  EXPECT_OK(finish(*device_, stream));
  const auto moved = download(*device_, to.base(), source.size());
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(32 * i);
    ASSERT_TRUE(std::equal(moved.begin() + at, moved.begin() + at + 16, source.begin() + at)) << i;
  }
}

TEST_F(Batches, OfManyCommandsTheLastGoEachUntilOthersHaveEnded) {
  const Place place = make_place(*device_, 4_MiB);
  const Stream stream = device_->create_stream().value();
  const auto batch = pieces(place.base(), place.base() + 2_MiB, 2);
  const std::uint64_t closed = gate(stream);
  for (std::size_t i = 0; i < BatchLimit::kCommands + 3; ++i)
    EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::batched}));
  EXPECT_EQ(device_->copy_counts().batched, BatchLimit::kCommands);
  EXPECT_EQ(device_->copy_counts().full, 3U);
  driver_->open(closed);
  EXPECT_OK(finish(*device_, stream));
  EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::batched}));
  EXPECT_EQ(device_->copy_counts().batched, BatchLimit::kCommands + 1);
  EXPECT_OK(finish(*device_, stream));
}

TEST_F(Batches, AfterOneThatHungTheDriverGetsNoMore) {
  const auto device = impatient();
  const Place place = make_place(*device, 4_MiB);
  const Stream stream = device->create_stream().value();
  const auto batch = pieces(place.base(), place.base() + 2_MiB, 100);
  EXPECT_OK(device->copy(batch, stream, {.method = CopyMethod::batched}));
  EXPECT_OK(device->synchronize(stream));
  EXPECT_FALSE(look_while_it_hangs(*device).batches_hang) << "it is seen to have begun";
  EXPECT_TRUE(look_while_it_hangs(*device).batches_hang);
  EXPECT_TRUE(device->copy_counts().batches_hang) << "for good";
  EXPECT_FALSE(device->supports(CopyMethod::batched, stream));
  const std::size_t commands = driver_->calls("cuMemcpyBatchAsync");
  EXPECT_OK(device->copy(batch, stream, {.method = CopyMethod::batched}));
  EXPECT_EQ(driver_->calls("cuMemcpyBatchAsync"), commands);
  EXPECT_EQ(device->copy_counts().unsupported, 1U);
  EXPECT_EQ(device->copy_counts().each, 1U);
  EXPECT_OK(finish(*device, stream));
}

TEST_F(Batches, OneThatWaitsForWorkBeforeItDoesNotHang) {
  const auto device = impatient();
  const Place place = make_place(*device, 4_MiB);
  const Stream stream = device->create_stream().value();
  const std::uint64_t closed = gate(stream);
  EXPECT_OK(device->copy(pieces(place.base(), place.base() + 2_MiB, 100), stream,
                         {.method = CopyMethod::batched}));
  for (int look = 0; look < 100; ++look) EXPECT_FALSE(device->copy_counts().batches_hang);
  driver_->open(closed);
  EXPECT_OK(device->synchronize(stream));
  EXPECT_FALSE(device->copy_counts().batches_hang);
}

// The driver's own table of calls, but for the batched copy, during which a test looks.
class BatchCall : public OnStandIn {
 protected:
  static inline std::function<CUresult()> during;
  static CUresult batch(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
                        std::size_t*, std::size_t, std::size_t*, CUstream) {
    return during();
  }
};

TEST_F(BatchCall, ThatDoesNotReturnIsSeenToHang) {
  CudaDriver calls = *cuda_driver().value();
  calls.MemcpyBatchAsync = batch;
  const auto context = CudaContext::retain(calls, 0).value();
  const auto scope = context->enter().value();
  BatchLimit limit(context, std::chrono::milliseconds(0));
  CUdeviceptr address = 0;
  std::size_t bytes = 1;
  const BatchLimit::Copies copies{{&address, 1}, {&address, 1}, {&bytes, 1}};
  during = [] { return CUDA_ERROR_INVALID_VALUE; };
  EXPECT_EQ(limit.post(copies, nullptr), Fallback::refused);
  EXPECT_FALSE(limit.hangs()) << "it has returned";
  during = [&] {
    EXPECT_TRUE(limit.hangs());
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(limit.post(copies, nullptr), std::nullopt);
  EXPECT_TRUE(limit.seen_to_hang());
  EXPECT_EQ(limit.post(copies, nullptr), Fallback::unsupported);
}

}  // namespace
}  // namespace aqua::device
