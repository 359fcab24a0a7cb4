// SPDX-License-Identifier: Apache-2.0
#include "transfer/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::StagingPool;
using transfer::Way;

class Staging : public ::testing::TestWithParam<On> {
 protected:
  std::unique_ptr<device::Device> dev = open(GetParam());
};

TEST_P(Staging, AcquireWhenAllLentFailsAndAReturnedPairIsLentAgain) {
  StagingPool pool(*dev, {.buffer_bytes = 1, .pairs = 2});
  auto first = must(pool.acquire());
  auto second = must(pool.acquire());
  EXPECT_NE(first->buffers[0], second->buffers[0]);
  EXPECT_EQ(first->buffer_bytes, dev->info().granularity);
  EXPECT_EQ(pool.acquire().error().code, Code::resource_exhausted);
  std::byte* const returned = second->buffers[0];
  second.reset();
  auto third = must(pool.acquire());
  EXPECT_EQ(third->buffers[0], returned);
}

TEST_P(Staging, WithoutMemoryAcquireFailsAndCanBeTriedAgain) {
  FaultyDevice faulty(*dev);
  StagingPool pool(faulty, {.buffer_bytes = 1, .pairs = 1});
  for (unsigned call = 1; call <= 5; ++call) {
    faulty.refuse(call, call);
    EXPECT_EQ(pool.acquire().error().code, FaultyDevice::kCode) << "call " << call;
  }
  faulty.refuse_none();
  EXPECT_TRUE(pool.acquire().ok());
}

#if !defined(AQUA_ON_GPU)  // a driver may do anything with a stream that is gone
TEST_P(Staging, AStreamThatDoesNotEndWellSaysSo) {
  ::testing::internal::CaptureStderr();
  {
    const auto own = must(device::OwnStream::create(*dev));
    must(dev->destroy_stream(*own));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.rfind("aqua: stream: destroy_stream: ", 0), 0U) << said;
}
#endif

TEST_P(Staging, ReturnedBuffersArePoisoned) {
  StagingPool pool(*dev, {.buffer_bytes = 1, .pairs = 1, .poison_on_release = true});
  for (int round = 0; round < 2; ++round) {
    auto lease = must(pool.acquire());
    must(dev->wait_event(*lease->stream, *lease->ready));
    Bytes seen(2 * lease->buffer_bytes);
    std::byte* const buffers = lease->buffers[0];
    const auto finish = must(post_read(*dev, *lease->stream, buffers, seen));
    const auto kept =
        must(post_write(*dev, *lease->stream, buffers, Bytes(seen.size(), std::byte{1})));
    drain(*dev, *lease->stream);
    finish();
    EXPECT_TRUE(
        std::ranges::all_of(seen, [](std::byte b) { return b == transfer::kStagingPoison; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Staging, ::testing::ValuesIn(kDevices),
                         [](const auto& test) { return name_of(test.param); });

// One pair only, on a device that claims to be a real GPU.
class StagingChoice : public ::testing::Test {
 protected:
  explicit StagingChoice(On on = On::hostile) : dev(open(on)) {}
  ~StagingChoice() override { must(dev->destroy_stream(stream)); }
  [[nodiscard]] transfer::TransferRequest request() const {
    transfer::TransferRequest r;
    r.layout = &cache.layout;
    r.blocks = blocks;
    r.tensor = tensor.base();
    r.tensor_bytes = tensor.bytes();
    return r;
  }
  const Geometry geometry{"", 2, 2, 16, 1000, 1, 1000, 0, 16'000};
  std::unique_ptr<device::Device> dev;
  FaultyDevice gpu{*dev};
  Stream stream = must(dev->create_stream());
  TestCache cache{*dev, geometry, 1};
  std::vector<std::uint32_t> blocks{1, 5, 9};
  DeviceMemory tensor{*dev, cache.layout.packed_bytes(3)};
};

TEST_F(StagingChoice, FallsBackToTheNextBestWayWhenNoBufferIsFree) {
  gpu.pretend(device::Kind::cuda);
  Mover mover(gpu, {.staging = {.pairs = 1}});
  auto staged = std::make_optional(must(mover.prepare(request())));
  EXPECT_EQ(staged->way(), Way::staged);
  EXPECT_EQ(must(mover.prepare(request())).way(), Way::each);
  staged.reset();
  EXPECT_EQ(must(mover.prepare(request())).way(), Way::staged);
}

TEST_F(StagingChoice, StagedByNameFailsWhenNoBufferIsFree) {
  Mover mover(gpu, {.staging = {.pairs = 1}});
  transfer::TransferRequest r = request();
  EXPECT_EQ(must(mover.prepare(r)).way(), Way::each) << "an emulated device has no link to spare";
  r.way = Way::staged;
  const auto first = must(mover.prepare(r));
  EXPECT_EQ(first.way(), Way::staged);
  EXPECT_EQ(mover.prepare(r).error().code, Code::resource_exhausted);
}

class StagingLent : public StagingChoice {
 protected:
  StagingLent() : StagingChoice(kAnyDevice) {}
};

TEST_F(StagingLent, BuffersStayLentUntilTheTransferIsOver) {
  Mover mover(gpu, {.staging = {.pairs = 1}});
  transfer::TransferRequest r = request();
  r.way = Way::staged;
  Gate gate(*dev, stream);
  auto transfer = must(mover.prepare(r));
  must(transfer.post(stream));
  EXPECT_EQ(mover.prepare(r).error().code, Code::resource_exhausted);
  gate.open();
  must(transfer.ticket().wait());
  EXPECT_TRUE(mover.prepare(r).ok());
}

}  // namespace
}  // namespace aqua::test
