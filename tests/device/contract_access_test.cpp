// SPDX-License-Identifier: Apache-2.0
// The device contract, part four: mappings that are only read, and events that tell the time.
#include <chrono>

#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

class DeviceAccess : public Contract {
 protected:
  // The slab of `place` a second time, to be read only.
  [[nodiscard]] std::unique_ptr<AddressRange> read_only(const Place& place) {
    auto range = device_->reserve(2 * grain_).value();
    EXPECT_OK(device_->map(*range, grain_, *place.slab, MapAccess::read_only));
    return range;
  }
};
AQUA_CONTRACT_SUITE(DeviceAccess);

TEST_P(DeviceAccess, AReadOnlyMappingIsReadAndSeesWhatIsWrittenElsewhere) {
  const Place place = make_place(*device_, grain_);
  const auto closed = read_only(place);
  for (std::uint32_t seed = 1; seed < 3; ++seed) {
    const auto bytes = pattern(grain_, seed);
    upload(*device_, place.base(), bytes);
    EXPECT_TRUE(download(*device_, closed->base() + grain_, grain_) == bytes);
  }
}

// By every method, a whole batch for one such destination; the stream has nothing to wait for.
TEST_P(DeviceAccess, WhatWouldWriteToAReadOnlyMappingIsRefusedAndNothingIsQueued) {
  const Place place = make_place(*device_, grain_);
  const Place other = make_place(*device_, grain_);
  const auto closed = read_only(place);
  std::byte* const last = closed->base() + 2 * grain_ - 1;
  const auto before = pattern(grain_, 1);
  upload(*device_, place.base(), before);
  upload(*device_, other.base(), before);
  const Stream stream = device_->create_stream().value();
  const auto ran = device_->copy_counts();
  const auto batch = std::make_shared<const std::vector<CopySegment>>(std::vector<CopySegment>{
      {other.base(), other.base() + 100, 100}, {}, {last, other.base(), 1}});
  for (const CopyMethod method : {CopyMethod::each, CopyMethod::batched, CopyMethod::kernel})
    EXPECT_CODE(Code::permission_denied, device_->copy(batch, stream, {.method = method}));
  EXPECT_CODE(Code::permission_denied, device_->scrub(last, 1, stream));
  EXPECT_OK(device_->synchronize(stream));
  EXPECT_TRUE(download(*device_, place.base(), grain_) == before);
  EXPECT_EQ(device_->copy_counts().each, ran.each + 1) << "the download";
  EXPECT_TRUE(download(*device_, other.base(), grain_) == before);
  EXPECT_OK(device_->destroy_stream(stream));
}

TEST_P(DeviceAccess, WhereWritingIsRefusedEndsWithTheMapping) {
  const Place place = make_place(*device_, grain_);
  const auto closed = read_only(place);
  std::byte* const begin = closed->base() + grain_;
  EXPECT_OK(device_->check_writable(begin - 1, 1));
  EXPECT_OK(device_->check_writable(begin, 0));
  EXPECT_OK(device_->check_writable(begin + grain_, 1));
  EXPECT_CODE(Code::permission_denied, device_->check_writable(begin - 1, 2));
  EXPECT_CODE(Code::permission_denied, device_->check_writable(begin + grain_ - 1, 1));
  EXPECT_OK(device_->unmap(*closed, grain_, grain_));
  EXPECT_OK(device_->check_writable(begin, grain_));
  EXPECT_OK(device_->map(*closed, grain_, *place.slab));
  const auto bytes = pattern(1'000, 3);
  upload(*device_, begin, bytes);
  EXPECT_TRUE(download(*device_, place.base(), bytes.size()) == bytes);
}

TEST_P(DeviceAccess, ABorrowedSlabIsMappedReadOnlyAsWell) {
  const Place lent = make_place(*device_, grain_);
  const auto bytes = pattern(grain_, 4);
  upload(*device_, lent.base(), bytes);
  const auto borrowed =
      device_->import_slab(device_->export_slab(*lent.slab).value(), grain_).value();
  const auto range = device_->reserve(grain_).value();
  EXPECT_OK(device_->map(*range, 0, *borrowed, MapAccess::read_only));
  EXPECT_TRUE(download(*device_, range->base(), grain_) == bytes);
  EXPECT_CODE(Code::permission_denied, device_->scrub(range->base(), 1, {}));
}

class DeviceClock : public Contract {
 protected:
  std::unique_ptr<Event> timed() { return device_->create_event(EventKind::timed).value(); }
};
AQUA_CONTRACT_SUITE(DeviceClock);

TEST_P(DeviceClock, TheTimeBetweenTwoEventsIsThatOfTheWorkBetween) {
  using std::chrono::nanoseconds;
  const Place from = make_place(*device_, 2 * grain_);
  const Place to = make_place(*device_, 2 * grain_);
  const auto start = timed();
  const auto middle = timed();
  const auto end = timed();
  EXPECT_OK(device_->record(*start, {}));
  EXPECT_OK(device_->copy(one(to.base(), from.base(), 2 * grain_), {}));
  EXPECT_OK(device_->record(*middle, {}));
  EXPECT_OK(device_->copy(one(to.base(), from.base(), 2 * grain_), {}));
  EXPECT_OK(device_->record(*end, {}));
  EXPECT_OK(device_->synchronize(*end));
  const nanoseconds whole = device_->elapsed(*start, *end).value();
  const nanoseconds first = device_->elapsed(*start, *middle).value();
  const nanoseconds second = device_->elapsed(*middle, *end).value();
  const nanoseconds rounding(2'000);
  EXPECT_GE(first, nanoseconds(0));
  EXPECT_GE(second, nanoseconds(0));
  EXPECT_LE(first + second, whole + rounding);
  EXPECT_GE(first + second, whole - rounding);
  EXPECT_LE(device_->elapsed(*end, *start).value(), rounding) << "backwards";
}

TEST_P(DeviceClock, ATimedEventOrdersStreamsLikeAnyOther) {
  const Place place = make_place(*device_, grain_);
  const Stream writer = device_->create_stream().value();
  const Stream reader = device_->create_stream().value();
  const auto written = timed();
  const auto bytes = pattern(50'000, 5);
  std::vector<std::byte> out(bytes.size());
  EXPECT_OK(device_->copy(one(place.base(), bytes.data(), bytes.size()), writer));
  EXPECT_OK(device_->record(*written, writer));
  EXPECT_OK(device_->wait_event(reader, *written));
  EXPECT_OK(device_->copy(one(out.data(), place.base(), out.size()), reader));
  EXPECT_OK(device_->destroy_stream(reader));
  EXPECT_OK(device_->destroy_stream(writer));
  EXPECT_TRUE(out == bytes);
}

TEST_P(DeviceClock, EventsThatHaveNoTimeToTellAreRefused) {
  const auto recorded = timed();
  EXPECT_OK(device_->record(*recorded, {}));
  EXPECT_OK(device_->synchronize(*recorded));
  const auto fresh = timed();
  EXPECT_CODE(Code::failed_precondition, device_->elapsed(*recorded, *fresh));
  EXPECT_CODE(Code::failed_precondition, device_->elapsed(*fresh, *recorded));
  const auto ordering = device_->create_event().value();
  EXPECT_OK(device_->record(*ordering, {}));
  EXPECT_OK(device_->synchronize(*ordering));
  EXPECT_CODE(Code::invalid_argument, device_->elapsed(*recorded, *ordering));
}

TEST_P(DeviceClock, AnotherDevicesEventIsRefused) {
  const auto other = open_kind(GetParam(), kTotal);
  const auto theirs = other->create_event(EventKind::timed).value();
  EXPECT_CODE(Code::invalid_argument, device_->record(*theirs, {}));
  EXPECT_TRUE(other->query(*theirs).value()) << "still unrecorded";
  EXPECT_OK(other->record(*theirs, {}));
  EXPECT_OK(other->synchronize(*theirs));
  const auto ours = timed();
  EXPECT_OK(device_->record(*ours, {}));
  EXPECT_OK(device_->synchronize(*ours));
  EXPECT_CODE(Code::invalid_argument, device_->query(*theirs));
  EXPECT_CODE(Code::invalid_argument, device_->synchronize(*theirs));
  EXPECT_CODE(Code::invalid_argument, device_->elapsed(*ours, *theirs));
  EXPECT_CODE(Code::invalid_argument, device_->elapsed(*theirs, *ours));
  EXPECT_OK(device_->wait_event({}, *theirs)) << "which any device may do";
  EXPECT_OK(finish(*device_, {}));
}

}  // namespace
}  // namespace aqua::device
