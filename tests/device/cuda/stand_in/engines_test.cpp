// SPDX-License-Identifier: Apache-2.0
// The stand-in's own time: engines, hand-overs and calls, to the nanosecond.
#include <cuda.h>

#include <functional>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"
#include "tests/device/cuda/stand_in/raw_driver.hpp"

namespace aqua::device {
namespace {

using stand_in::Rates;
using stand_in::Usage;

constexpr std::uint64_t kMs = 1'000'000;  // nanoseconds

class Engines : public OnStandIn {
 protected:
  void SetUp() override {
    OnStandIn::SetUp();
    if (driver_ == nullptr) return;
    place_ = make_place(*device_, 8_MiB);
    EXPECT_OK(device_->register_host(host_.data(), host_.size()));
    keep_time({});
  }
  void TearDown() override {
    if (driver_ != nullptr && device_ != nullptr) {
      EXPECT_OK(device_->unregister_host(host_.data(), host_.size()));
    }
    OnStandIn::TearDown();
  }
  // A GPU on which only bytes take time: a millisecond for a million of the link, and for a hundred
  // million of its memory; but for what `change` says.
  void keep_time(const std::function<void(Rates&)>& change) {
    stand_in::Variant variant;
    variant.in_time = true;
    variant.rates = {0, 0, 0, 0, 0, 1'000, 100'000};
    if (change) change(variant.rates);
    driver_->behave(variant);
  }
  void fetch(Stream stream, std::size_t bytes) {
    EXPECT_OK(device_->copy(one(place_.base(), host_.data(), bytes), stream));
  }
  void offload(Stream stream, std::size_t bytes) {
    EXPECT_OK(device_->copy(one(host_.data(), place_.base() + 4_MiB, bytes), stream));
  }
  [[nodiscard]] std::uint64_t time_of(const std::function<void()>& work) const {
    const std::uint64_t start = driver_->usage(0).now_ns;
    work();
    return driver_->usage(0).now_ns - start;
  }
  [[nodiscard]] Stream stream() { return device_->create_stream().value(); }
  void wait_for(Stream waiting, Stream other) {
    const auto event = device_->create_event().value();
    EXPECT_OK(device_->record(*event, other));
    EXPECT_OK(device_->wait_event(waiting, *event));
  }

  std::vector<std::byte> host_ = std::vector<std::byte>(4'000'000);
  Place place_;
};

TEST_F(Engines, CopiesOfADirectionShareOneEngineAndDirectionsDoNot) {
  const Stream one = stream();
  const Stream two = stream();
  EXPECT_EQ(time_of([&] {
              fetch(one, 1'000'000);
              fetch(two, 2'000'000);
              EXPECT_OK(device_->synchronize(one));
              EXPECT_OK(device_->synchronize(two));
            }),
            3 * kMs);
  EXPECT_EQ(time_of([&] {
              fetch(one, 1'000'000);
              offload(two, 2'000'000);
              EXPECT_OK(device_->synchronize(one));
              EXPECT_OK(device_->synchronize(two));
            }),
            2 * kMs);
}

TEST_F(Engines, ASmallCopyThatIsReadyLaterWaitsBehindALargeOne) {
  const Stream bulk = stream();
  const Stream small = stream();
  EXPECT_EQ(time_of([&] {
              fetch(bulk, 1'000'000);
              wait_for(small, bulk);
              fetch(bulk, 4'000'000);  // ready as soon as the one before it is over
              fetch(small, 1'000);
              EXPECT_OK(device_->synchronize(small));
            }),
            5 * kMs + kMs / 1'000);
}

TEST_F(Engines, AnEngineThatIsFreeTakesWhatIsReadyFirst) {
  const Stream late = stream();
  const Stream early = stream();
  const Stream away = stream();
  offload(away, 2'000'000);
  wait_for(late, away);  // posted before the other, and ready after it
  fetch(late, 1'000'000);
  EXPECT_EQ(time_of([&] {
              fetch(early, 1'000'000);
              EXPECT_OK(device_->synchronize(early));
            }),
            kMs);
  EXPECT_EQ(time_of([&] { EXPECT_OK(device_->synchronize(late)); }), 2 * kMs);
}

TEST_F(Engines, AStreamThatHasMoreKeepsItsEngineForATimeSlice) {
  const Stream bulk = stream();
  const Stream small = stream();
  for (int i = 0; i < 5; ++i) fetch(bulk, 1'000'000);
  for (int i = 0; i < 3; ++i) fetch(small, 1'000);
  EXPECT_EQ(time_of([&] { EXPECT_OK(device_->synchronize(small)); }), 2 * kMs + 3 * kMs / 1'000);
  EXPECT_EQ(time_of([&] { EXPECT_OK(device_->synchronize(bulk)); }), 3 * kMs);
}

TEST_F(Engines, AHandOverTakesItsTimeInAStreamAndByAnEvent) {
  keep_time([](Rates& rates) { rates.handover_ns = 7; });
  const Stream one = stream();
  const Stream two = stream();
  const Stream three = stream();
  EXPECT_EQ(time_of([&] {
              fetch(three, 1'000'000);
              offload(three, 1'000'000);
              EXPECT_OK(device_->synchronize(three));
            }),
            2 * kMs + 7);
  EXPECT_EQ(time_of([&] {
              fetch(one, 1'000'000);
              wait_for(two, one);
              fetch(two, 1'000'000);
              EXPECT_OK(device_->synchronize(two));
            }),
            2 * kMs + 7);
}

TEST_F(Engines, CommandsPiecesAndKernelsHaveTheirOwnCosts) {
  keep_time([](Rates& rates) {
    rates.command_ns = 1'000;
    rates.piece_ns = 10;
    rates.launch_ns = 100'000;
  });
  const Stream one = stream();
  const auto pieces = [&](CopyMethod method) {
    auto batch = std::make_shared<std::vector<CopySegment>>();
    for (std::size_t i = 0; i < 100; ++i) {
      batch->push_back({place_.base() + 64 * i, host_.data() + 64 * i, 20});
    }
    EXPECT_OK(device_->copy(batch, one, {.method = method}));
    EXPECT_OK(device_->synchronize(one));
  };
  const std::uint64_t bytes = 2'000;  // in a thousandth of a millisecond each
  EXPECT_EQ(time_of([&] { pieces(CopyMethod::each); }), 100 * 1'000 + bytes * 1'000 / 1'000);
  EXPECT_EQ(time_of([&] { pieces(CopyMethod::batched); }), 1'000 + 99 * 10 + bytes);
  const Usage before = driver_->usage(0);
  const std::uint64_t list = 100 * 32;  // which a kernel fetches
  EXPECT_EQ(time_of([&] { pieces(CopyMethod::kernel); }), 2 * 100'000 + list + bytes);
  const Usage after = driver_->usage(0);
  EXPECT_EQ(after.kernels.commands - before.kernels.commands, 2U);
  EXPECT_EQ(after.kernels.bytes - before.kernels.bytes, list + bytes) << "over the link";
  EXPECT_EQ(after.from_host.commands, before.from_host.commands);
}

TEST_F(Engines, ACallTakesItsTimeAndWorkIsNotReadyBefore) {
  keep_time([](Rates& rates) { rates.call_ns = 1'000; });
  const auto event = device_->create_event().value();
  const Stream one = stream();
  EXPECT_EQ(time_of([&] { EXPECT_OK(device_->record(*event, one)); }), 1'000U);
  const Usage start = driver_->usage(0);
  fetch(one, 1'000);
  EXPECT_EQ(driver_->usage(0).from_host.busy_ns, start.from_host.busy_ns) << "not yet begun";
  EXPECT_OK(device_->synchronize(one));
  EXPECT_EQ(driver_->usage(0).ended_ns, start.now_ns + 2 * 1'000);
}

TEST_F(Engines, AQueryAnswersByTheTimeThatHasGoneBy) {
  const auto event = device_->create_event().value();
  const Stream one = stream();
  fetch(one, 1'000'000);
  EXPECT_OK(device_->record(*event, one));
  EXPECT_FALSE(device_->query(*event).value());
  keep_time([](Rates& rates) { rates.call_ns = kMs / 4; });
  int asked = 0;
  while (!device_->query(*event).value()) ++asked;
  EXPECT_EQ(asked, 3);
}

TEST_F(Engines, AFullQueueTakesTheTimeUntilACommandHasBegun) {
  const Stream one = stream();
  constexpr std::size_t kCopies = 1'100;
  EXPECT_EQ(time_of([&] {
              for (std::size_t i = 0; i < kCopies; ++i) fetch(one, 1'000);
            }),
            (kCopies - 1'024 - 1) * kMs / 1'000);
  EXPECT_OK(device_->synchronize(one));
}

// Asked of the driver, since the device's own events need not keep any.
TEST_F(Engines, TimedEventsTellTheTimeBetweenThem) {
  const RawDriver raw;
  const auto elapsed = raw.find<PFN_cuEventElapsedTime_v2000>("cuEventElapsedTime");
  CUevent start = nullptr;
  CUevent end = nullptr;
  CUevent untimed = nullptr;
  EXPECT_EQ(raw.call.EventCreate(&start, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.EventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.EventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const Stream one = stream();
  const auto native = reinterpret_cast<CUstream>(one.native);
  float ms = 0;
  EXPECT_EQ(elapsed(&ms, start, end), CUDA_ERROR_INVALID_HANDLE) << "never recorded";
  fetch(one, 1'000'000);
  EXPECT_EQ(raw.call.EventRecord(start, native), CUDA_SUCCESS);
  fetch(one, 2'500'000);
  EXPECT_EQ(raw.call.EventRecord(end, native), CUDA_SUCCESS);
  EXPECT_EQ(raw.call.EventRecord(untimed, native), CUDA_SUCCESS);
  EXPECT_EQ(elapsed(&ms, start, end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(raw.call.EventSynchronize(untimed), CUDA_SUCCESS);
  EXPECT_EQ(elapsed(&ms, start, end), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(ms, 2.5F);
  EXPECT_EQ(elapsed(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  for (CUevent event : {start, end, untimed}) {
    EXPECT_EQ(raw.call.EventDestroy(event), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace aqua::device
