// SPDX-License-Identifier: Apache-2.0
// The stand-in's own streams and events: late, in any order that CUDA allows, and in no other.
#include <cuda.h>

#include <thread>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"

namespace aqua::device {
namespace {

class Queues : public OnStandIn {
 protected:
  static void* raw(Stream stream) { return reinterpret_cast<void*>(stream.native); }
  void note(Stream stream, int what) {
    ASSERT_EQ(driver_->launch(raw(stream), [this, what] { ran_.push_back(what); }, {}), 0);
  }
  // A context that has ended can be made anew when nobody holds it.
  void open_anew() {
    device_.reset();
    device_ = open_kind("cuda", 16_MiB);
  }

  std::vector<int> ran_;
};

TEST_F(Queues, NothingRunsUntilSomebodyWaitsAndThenInTheStreamsOrder) {
  const Stream stream = device_->create_stream().value();
  for (int i = 0; i < 5; ++i) note(stream, i);
  EXPECT_TRUE(ran_.empty());
  EXPECT_OK(device_->synchronize(stream));
  EXPECT_EQ(ran_, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(Queues, UnorderedStreamsRunInEitherOrder) {
  const Stream one = device_->create_stream().value();
  const Stream two = device_->create_stream().value();
  bool first = false;
  bool second = false;
  bool left = false;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    driver_->seed(seed);
    ran_.clear();
    note(one, 1);
    note(two, 2);
    EXPECT_OK(device_->synchronize(one));
    left |= ran_.size() == 1;
    EXPECT_OK(device_->synchronize(two));
    (ran_.front() == 1 ? first : second) = true;
  }
  EXPECT_TRUE(first && second && left);
}

TEST_F(Queues, AWaitIsForTheRecordOfItsTime) {
  const Stream one = device_->create_stream().value();
  const Stream two = device_->create_stream().value();
  const auto event = device_->create_event().value();
  EXPECT_OK(device_->wait_event(two, *event));  // never recorded: no wait
  const std::uint64_t early = driver_->gate(raw(one));
  note(one, 1);
  EXPECT_OK(device_->synchronize(two));
  EXPECT_OK(device_->record(*event, one));
  EXPECT_OK(device_->wait_event(two, *event));
  note(two, 2);
  const std::uint64_t late = driver_->gate(raw(one));
  EXPECT_OK(device_->record(*event, one));  // replaces, but not for `two`
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(device_->query(*event).value());
  EXPECT_TRUE(ran_.empty());
  driver_->open(early);
  EXPECT_OK(device_->synchronize(two));
  EXPECT_EQ(ran_, (std::vector<int>{1, 2}));
  EXPECT_FALSE(device_->query(*event).value());
  driver_->open(late);
  EXPECT_OK(device_->synchronize(*event));
}

TEST_F(Queues, AWaitOutlivesItsEvent) {
  const Stream one = device_->create_stream().value();
  const Stream two = device_->create_stream().value();
  note(one, 1);
  EXPECT_OK(device_->wait_event(two, *recorded(*device_, one)));
  note(two, 2);
  EXPECT_OK(device_->synchronize(two));
  EXPECT_EQ(ran_, (std::vector<int>{1, 2}));
}

TEST_F(Queues, PollingAnEventReachesIt) {
  const Stream stream = device_->create_stream().value();
  for (int i = 0; i < 100; ++i) note(stream, i);
  const auto event = recorded(*device_, stream);
  unsigned polls = 0;
  while (!device_->query(*event).value()) ++polls;
  EXPECT_EQ(ran_.size(), 100U);
  EXPECT_LT(polls, 1'000U);
}

TEST_F(Queues, TakingMemoryAwayUnderQueuedWorkIsNoticed) {
  for (const CopyMethod method : {CopyMethod::each, CopyMethod::batched, CopyMethod::kernel}) {
    {
      Place place = make_place(*device_, 4_MiB);
      const Stream stream = device_->create_stream().value();
      const std::uint64_t gate = driver_->gate(raw(stream));
      auto batch = std::make_shared<std::vector<CopySegment>>();
      for (std::size_t i = 0; i < 10; ++i) {
        batch->push_back({place.base() + 64 * i, place.base() + 2_MiB + 64 * i, 32});
      }
      EXPECT_OK(device_->copy(batch, stream, {.method = method}));
      (void)driver_->tolerate(true);
      EXPECT_OK(device_->unmap(*place.range, 0, 4_MiB));
      EXPECT_EQ(driver_->tolerate(true), 1U);
      driver_->open(gate);
      EXPECT_CODE(Code::data_loss, device_->synchronize(stream));
      EXPECT_EQ(driver_->tolerate(false), method == CopyMethod::batched ? 10U : 1U);
    }
    open_anew();
  }
}

TEST_F(Queues, AFaultEndsTheContextForAllItsStreams) {
  auto other = open_cuda({.device = "cuda:1", .total_bytes = 16_MiB}).value();
  {
    Place place = make_place(*device_, 2_MiB);
    const Stream one = device_->create_stream().value();
    const Stream two = device_->create_stream().value();
    const Stream apart = other->create_stream().value();
    const auto batch = aqua::device::one(place.base(), place.base() + 1_MiB, 64);
    EXPECT_OK(device_->copy(batch, one));
    (void)driver_->tolerate(true);
    EXPECT_OK(device_->unmap(*place.range, 0, 2_MiB));
    note(apart, 2);
    EXPECT_CODE(Code::data_loss, device_->synchronize(one));
    EXPECT_EQ(driver_->tolerate(false), 2U);
    const auto event = other->create_event().value();
    EXPECT_CODE(Code::data_loss, device_->synchronize(two));
    EXPECT_CODE(Code::data_loss, device_->create_stream());
    EXPECT_CODE(Code::data_loss, device_->create_slab(2_MiB));
    EXPECT_NE(driver_->launch(raw(two), [this] { ran_.push_back(1); }, {}), 0);
    EXPECT_OK(other->synchronize(apart));
    EXPECT_EQ(ran_, (std::vector<int>{2}));
  }
  open_anew();
  EXPECT_OK(finish(*device_, {}));
}

TEST_F(Queues, AfterAFaultNothingMoreRunsInItsContext) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    driver_->seed(seed);
    ran_.clear();
    {
      Place place = make_place(*device_, 2_MiB);
      const Stream one = device_->create_stream().value();
      const Stream two = device_->create_stream().value();
      EXPECT_OK(device_->copy(aqua::device::one(place.base(), place.base() + 1_MiB, 64), one));
      EXPECT_OK(device_->wait_event(two, *recorded(*device_, one)));
      note(two, 1);
      (void)driver_->gate(raw(two));
      (void)driver_->tolerate(true);
      EXPECT_OK(device_->unmap(*place.range, 0, 2_MiB));
      EXPECT_CODE(Code::data_loss, device_->synchronize(two)) << "which ends all the same";
      (void)driver_->tolerate(false);
      EXPECT_TRUE(ran_.empty());
    }
    open_anew();
  }
}

TEST_F(Queues, AFullQueueHoldsUpWhoPostsMore) {
  const Stream stream = device_->create_stream().value();
  const std::uint64_t gate = driver_->gate(raw(stream));
  const std::size_t blocked = driver_->usage(0).blocked;
  constexpr int kMore = 3'000;
  std::thread poster([&] {
    for (int i = 0; i < kMore; ++i) note(stream, i);
  });
  while (driver_->usage(0).blocked == blocked) std::this_thread::yield();
  EXPECT_EQ(driver_->pending(), 1'024U);
  driver_->open(gate);
  poster.join();
  EXPECT_GT(driver_->usage(0).blocked, blocked + 1) << "again and again";
  EXPECT_OK(device_->synchronize(stream));
  EXPECT_EQ(ran_.size(), static_cast<std::size_t>(kMore));
}

TEST_F(Queues, TheKernelsMemoryIsKnownFromItsListAlone) {
  std::size_t late = 0;  // draws in which the kernel was still queued
  for (unsigned seed = 1; seed <= 20; ++seed) {
    driver_->seed(seed);
    {
      Place place = make_place(*device_, 4_MiB);
      const Stream stream = device_->create_stream().value();
      const auto batch = one(place.base(), place.base() + 2_MiB, 100);
      EXPECT_OK(device_->copy(batch, stream, {.method = CopyMethod::kernel}));
      EXPECT_OK(finish(*device_, {}));
      (void)driver_->tolerate(true);
      const std::size_t queued = driver_->pending();  // the kernel, and the event behind it
      EXPECT_OK(device_->unmap(*place.range, 0, 4_MiB));
      const bool complained = driver_->tolerate(true) == 1;
      EXPECT_EQ(complained, queued >= 2) << "seed " << seed;
      EXPECT_EQ(device_->synchronize(stream).ok(), !complained);
      (void)driver_->tolerate(false);
      late += complained ? 1U : 0U;
    }
    open_anew();
  }
  EXPECT_GT(late, 0U);
}

TEST_F(Queues, UnderCaptureTheDriversAnswersAreGiven) {
  const Stream stream = device_->create_stream().value();
  const Stream other = device_->create_stream().value();
  const auto outside = recorded(*device_, other);
  const auto event = device_->create_event().value();
  (void)driver_->capture(raw(stream), true);
  EXPECT_OK(device_->record(*event, stream));
  note(stream, 1);
  EXPECT_EQ(device_->query(*event).error().code, Code::failed_precondition)
      << "CUDA_ERROR_CAPTURED_EVENT";
  EXPECT_EQ(device_->synchronize(*event).error().code, Code::failed_precondition);
  EXPECT_FALSE(device_->capturing(other));
  EXPECT_OK(device_->wait_event(other, *event));
  EXPECT_TRUE(device_->capturing(other)) << "it has joined";
  EXPECT_TRUE(driver_->capture(raw(stream), false));
  EXPECT_FALSE(device_->capturing(other));

  (void)driver_->capture(raw(stream), true);
  EXPECT_EQ(device_->synchronize(stream).error().code, Code::failed_precondition)
      << "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
  EXPECT_FALSE(driver_->capture(raw(stream), false)) << "and spoilt";
  (void)driver_->capture(raw(stream), true);
  EXPECT_EQ(device_->wait_event(stream, *outside).error().code, Code::failed_precondition)
      << "..._ISOLATION";
  EXPECT_FALSE(driver_->capture(raw(stream), false));
  EXPECT_OK(device_->synchronize(stream));
  EXPECT_TRUE(ran_.empty()) << "nobody launched the graph";
}

TEST_F(Queues, TheLegacyStreamIsOutOfBoundsWhileABlockingStreamIsCaptured) {
  const auto event = device_->create_event().value();
  driver_->capture_blocking(true);
  EXPECT_TRUE(device_->capturing({}));
  EXPECT_EQ(device_->record(*event, {}).error().code, Code::failed_precondition);
  EXPECT_EQ(device_->synchronize(Stream{}).error().code, Code::failed_precondition);
  driver_->capture_blocking(false);
  EXPECT_FALSE(device_->capturing({}));
  EXPECT_OK(finish(*device_, {}));
}

}  // namespace
}  // namespace aqua::device
