// SPDX-License-Identifier: Apache-2.0
// Streams of memfd devices, seen through kernels that wait at a gate: what runs when, what
// is cancelled, and what a dead memory does.
#include <atomic>
#include <future>
#include <memory>

#include "device/memfd/device.hpp"
#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

// A kernel that keeps its stream until the gate opens.
class Gate {
 public:
  Gate(Device& device, Stream stream) {
    EXPECT_OK(launch(device, stream, [opened = opened_] { opened.wait(); }));
  }
  ~Gate() { open(); }
  void open() {
    if (!open_) promise_.set_value();
    open_ = true;
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
  bool open_ = false;
};

class MemfdWork : public Contract {
 protected:
  Result<void> scrub_all(const Place& place, Stream stream = {}) {
    return device_->scrub(place.base(), place.range->bytes(), stream);
  }
};
AQUA_MEMFD_SUITE(MemfdWork);

TEST_P(MemfdWork, PostingDoesNotWaitForTheWork) {
  Gate gate(*device_, {});
  const auto event = recorded(*device_, {});
  EXPECT_FALSE(device_->query(*event).value());
  gate.open();
  EXPECT_OK(device_->synchronize(*event));
  EXPECT_TRUE(device_->query(*event).value());
}

TEST_P(MemfdWork, RecordingAgainReplacesThePoint) {
  const Stream busy = new_stream();
  Gate gate(*device_, busy);
  const auto event = recorded(*device_, busy);
  EXPECT_OK(device_->record(*event, {}));
  EXPECT_OK(device_->synchronize(*event));  // while `busy` still waits
}

TEST_P(MemfdWork, WaitingTakesThePointRecordedAtTheTimeOfTheCall) {
  const Stream busy = new_stream();
  const Stream waiter = new_stream();
  Gate gate(*device_, busy);
  const auto event = recorded(*device_, busy);
  EXPECT_OK(device_->wait_event(waiter, *event));
  EXPECT_OK(device_->record(*event, {}));
  EXPECT_OK(device_->synchronize(*event));
  const auto waited = recorded(*device_, waiter);
  EXPECT_FALSE(device_->query(*waited).value());
  gate.open();
  EXPECT_OK(device_->synchronize(*waited));
}

TEST_P(MemfdWork, ABatchIsCancelledAsLongAsItHasNotStarted) {
  const Place place = make_place(*device_, grain_);
  const auto before = pattern(1'000, 1);
  const auto after = pattern(1'000, 2);
  upload(*device_, place.base(), before);
  Gate gate(*device_, {});
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  EXPECT_OK(device_->copy(one(place.base(), after.data(), 500), {}, {.cancel = cancel}));
  EXPECT_OK(device_->copy(one(place.base() + 500, after.data() + 500, 500), {}));
  cancel->store(true);
  gate.open();
  auto expected = before;
  std::copy(after.begin() + 500, after.end(), expected.begin() + 500);
  EXPECT_TRUE(download(*device_, place.base(), 1'000) == expected);
}

TEST_P(MemfdWork, DestroyingADeviceRunsWhatIsQueued) {
  auto device = open_kind(GetParam(), kTotal);
  const Place place = make_place(*device, grain_);
  const auto bytes = pattern(9'999, 3);
  std::vector<std::byte> out(bytes.size());
  const auto event = device->create_event().value();
  {
    Gate gate(*device, {});
    EXPECT_OK(device->copy(one(place.base(), bytes.data(), bytes.size()), {}));
    EXPECT_OK(device->copy(one(out.data(), place.base(), bytes.size()), {}));
    EXPECT_OK(device->record(*event, {}));
  }
  device.reset();
  EXPECT_TRUE(out == bytes);
}

TEST_P(MemfdWork, WorkThatTouchesDeadMemoryIsReportedByTheEventAfterIt) {
  const Place place = make_place(*device_, grain_);
  std::vector<std::byte> out(100);
  poison_range(*device_, place.base() + 1'000, 1);
  EXPECT_OK(device_->copy(one(out.data(), place.base() + 901, 99), {}));  // just beside it
  EXPECT_OK(finish(*device_, {}));
  EXPECT_OK(device_->copy(one(out.data(), place.base() + 901, 100), {}));
  EXPECT_CODE(Code::data_loss, finish(*device_, {}));
  EXPECT_OK(device_->copy(one(place.base() + 1'000, out.data(), 1), {}));
  EXPECT_CODE(Code::data_loss, finish(*device_, {}));
  EXPECT_OK(scrub_all(place));
  EXPECT_CODE(Code::data_loss, finish(*device_, {}));
  EXPECT_OK(finish(*device_, {})) << "reported once, and nothing failed since";
}

TEST_P(MemfdWork, AFailureMarksEveryEventOfItsStreamUntilOneHasReportedIt) {
  const Place place = make_place(*device_, grain_);
  const Stream other = new_stream();
  poison_range(*device_, place.base(), grain_);
  const auto before = recorded(*device_, {});
  EXPECT_OK(scrub_all(place));
  const auto first = recorded(*device_, {});
  const auto second = recorded(*device_, {});
  EXPECT_OK(finish(*device_, other));
  EXPECT_CODE(Code::data_loss, device_->synchronize(*second));
  EXPECT_CODE(Code::data_loss, device_->query(*first));
  EXPECT_CODE(Code::data_loss, device_->query(*first)) << "an event does not forget";
  EXPECT_OK(device_->query(*before));
  EXPECT_OK(finish(*device_, {}));
}

TEST_P(MemfdWork, ADeadRangeIsWholeAgainOnceItsSlabIsUnmapped) {
  const Place place = make_place(*device_, grain_);
  const auto next = device_->create_slab(grain_);
  poison_range(*device_, place.base(), grain_);
  ASSERT_TRUE(device_->unmap(*place.range, 0, grain_).ok());
  ASSERT_TRUE(device_->map(*place.range, 0, **next).ok());
  EXPECT_OK(scrub_all(place));
  EXPECT_OK(finish(*device_, {}));
}

TEST_P(MemfdWork, KernelsReadDeviceMemoryThroughTheirView) {
  const Place place = make_place(*device_, grain_);
  const auto bytes = pattern(grain_, 4);
  upload(*device_, place.base(), bytes);
  std::vector<std::byte> seen;
  EXPECT_OK(launch(*device_, {}, [&] {
    const std::byte* view = kernel_view(std::as_const(place).base());
    seen.assign(view, view + grain_);
  }));
  EXPECT_OK(finish(*device_, {}));
  EXPECT_TRUE(seen == bytes);
  EXPECT_CODE(Code::invalid_argument, launch(*device_, {}, nullptr));
}

TEST_P(MemfdWork, AStreamThatIsNoLongerThereIsRefused) {
  const Stream stream = new_stream();
  EXPECT_OK(device_->destroy_stream(stream));
  const auto event = device_->create_event().value();
  std::byte byte{};
  EXPECT_CODE(Code::invalid_argument, device_->destroy_stream(stream));
  EXPECT_CODE(Code::invalid_argument, device_->record(*event, stream));
  EXPECT_CODE(Code::invalid_argument, device_->wait_event(stream, *event));
  EXPECT_CODE(Code::invalid_argument, device_->copy(one(&byte, &byte, 0), stream));
  EXPECT_CODE(Code::invalid_argument, device_->scrub(&byte, 1, stream));
  EXPECT_CODE(Code::invalid_argument, launch(*device_, stream, [] {}));
  EXPECT_CODE(Code::invalid_argument, open_kind(GetParam(), kTotal)->record(*event, stream));
  EXPECT_TRUE(device_->query(*event).value());
}

}  // namespace
}  // namespace aqua::device
