// SPDX-License-Identifier: Apache-2.0
// The device contract, part two: streams, events and the work on them.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

class DeviceWork : public Contract {};
AQUA_CONTRACT_SUITE(DeviceWork);

TEST_P(DeviceWork, CopiesOfAnySizeAndAlignmentAreExact) {
  const Place from = make_place(*device_, grain_);
  const Place to = make_place(*device_, grain_);
  const auto source = pattern(grain_, 1);
  const auto background = pattern(grain_, 2);
  upload(*device_, from.base(), source);
  for (const std::size_t bytes : {1U, 15U, 64U, 4'095U, 4'096U, 4'097U, 16'384U, 70'001U}) {
    for (const std::size_t shift : {0U, 1U, 7U, 63U}) {
      upload(*device_, to.base(), background);
      EXPECT_OK(device_->copy(one(to.base() + 100 + shift, from.base() + 3 * shift, bytes), {}));
      EXPECT_OK(finish(*device_, {}));
      auto expected = background;
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(3 * shift), bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(100 + shift));
      EXPECT_TRUE(download(*device_, to.base(), grain_) == expected) << bytes << " at " << shift;
    }
  }
}

TEST_P(DeviceWork, ABatchMovesEverySegment) {
  const Place from = make_place(*device_, grain_);
  const Place to = make_place(*device_, grain_);
  const auto source = pattern(grain_, 3);
  upload(*device_, from.base(), source);
  auto batch = std::make_shared<std::vector<CopySegment>>();
  constexpr std::size_t kBlock = 16_KiB;
  const std::size_t blocks = grain_ / kBlock;
  for (std::size_t i = 0; i < blocks; ++i) {  // backwards, with segments of no bytes between
    batch->push_back({to.base() + i * kBlock, from.base() + (blocks - 1 - i) * kBlock, kBlock});
    batch->push_back({});
  }
  EXPECT_OK(device_->copy(batch, {}));
  EXPECT_OK(finish(*device_, {}));
  const auto moved = download(*device_, to.base(), grain_);
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto at = [&](const auto& v, std::size_t block) {
      return v.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
    };
    ASSERT_TRUE(std::equal(at(moved, i), at(moved, i + 1), at(source, blocks - 1 - i))) << i;
  }
}

// The first way at or below `asked` that the device has.
CopyMethod taken(const Device& device, CopyMethod asked, Stream stream) {
  for (const CopyMethod way : {CopyMethod::kernel, CopyMethod::batched}) {
    if (way <= asked && device.supports(way, stream)) return way;
  }
  return CopyMethod::each;
}
std::uint64_t ran(const CopyCounts& counts, CopyMethod way) {
  return way == CopyMethod::each      ? counts.each
         : way == CopyMethod::batched ? counts.batched
                                      : counts.kernel;
}

TEST_P(DeviceWork, EveryMethodMovesTheSameBytesAndIsWhatRan) {
  const Place from = make_place(*device_, grain_);
  const Place to = make_place(*device_, grain_);
  const auto source = pattern(grain_, 9);
  upload(*device_, from.base(), source);
  const Stream stream = new_stream();
  for (const CopyMethod method : {CopyMethod::each, CopyMethod::batched, CopyMethod::kernel}) {
    auto batch = std::make_shared<std::vector<CopySegment>>();
    std::vector<std::byte> expected(grain_);
    constexpr std::size_t kBlock = 4'099;  // unaligned, and neighbours in neither order
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t there = (i * 37 % 100) * kBlock;
      batch->push_back({to.base() + there, from.base() + i * kBlock, kBlock});
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(i * kBlock), kBlock,
                  expected.begin() + static_cast<std::ptrdiff_t>(there));
    }
    EXPECT_OK(device_->scrub(to.base(), grain_, stream));
    const CopyCounts before = device_->copy_counts();
    EXPECT_OK(device_->copy(batch, stream, {.method = method, .max_sms = 2}));
    EXPECT_OK(finish(*device_, stream));
    const CopyCounts now = device_->copy_counts().since(before);
    const CopyMethod way = taken(*device_, method, stream);
    EXPECT_EQ(ran(now, way), 1U) << static_cast<int>(method);
    EXPECT_EQ(now.kernel + now.batched + now.each, 1U);
    EXPECT_EQ(now.unsupported > 0, way != method);
    EXPECT_EQ(now.unreachable + now.full + now.refused, 0U);
    EXPECT_TRUE(download(*device_, to.base(), grain_) == expected) << static_cast<int>(method);
  }
  EXPECT_TRUE(device_->supports(CopyMethod::each, stream));
  EXPECT_FALSE(device_->capturing(stream));
}

TEST_P(DeviceWork, RegisteredHostMemoryIsCopiedAcrossItsEnds) {
  const Place place = make_place(*device_, grain_);
  constexpr std::size_t kPiece = 64_KiB;
  std::vector<std::byte> memory(5 * kPiece);
  auto* first = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + kPiece - 1) / kPiece * kPiece);
  EXPECT_OK(device_->register_host(first, kPiece));
  EXPECT_OK(device_->register_host(first + kPiece, kPiece));
  for (const CopyMethod method : {CopyMethod::each, CopyMethod::batched, CopyMethod::kernel}) {
    // From registered memory through the next piece into memory that is not.
    const auto bytes = pattern(3 * kPiece - 100, 10);
    std::copy(bytes.begin(), bytes.end(), first + 50);
    const auto up = one(place.base() + 3, first + 50, bytes.size());
    EXPECT_OK(device_->copy(up, {}, {.method = method}));
    EXPECT_OK(finish(*device_, {}));
    EXPECT_TRUE(download(*device_, place.base() + 3, bytes.size()) == bytes);
    std::fill_n(first, 3 * kPiece, std::byte{0});
    const auto down = one(first + 50, place.base() + 3, bytes.size());
    EXPECT_OK(device_->copy(down, {}, {.method = method}));
    EXPECT_OK(finish(*device_, {}));
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), first + 50)) << static_cast<int>(method);
  }
  EXPECT_OK(device_->unregister_host(first, kPiece));
  EXPECT_OK(device_->unregister_host(first + kPiece, kPiece));
}

TEST_P(DeviceWork, ScrubZeroesExactlyItsBytes) {
  const Place place = make_place(*device_, grain_);
  auto expected = pattern(grain_, 4);
  upload(*device_, place.base(), expected);
  EXPECT_OK(device_->scrub(place.base() + 33, 100'003, {}));
  EXPECT_OK(device_->scrub(place.base() + 200'000, 5, {}));
  EXPECT_OK(device_->scrub(nullptr, 0, {}));
  EXPECT_OK(finish(*device_, {}));
  std::fill_n(expected.begin() + 33, 100'003, std::byte{0});
  std::fill_n(expected.begin() + 200'000, 5, std::byte{0});
  EXPECT_TRUE(download(*device_, place.base(), grain_) == expected);
}

TEST_P(DeviceWork, WorkOfOneStreamRunsInOrder) {
  const Place place = make_place(*device_, grain_);
  const Stream stream = new_stream();
  const auto bytes = pattern(20'000, 5);
  std::vector<std::byte> out(bytes.size());
  std::byte* hop = place.base();
  EXPECT_OK(device_->copy(one(hop, bytes.data(), bytes.size()), stream));
  for (int i = 0; i < 10; ++i, hop += 20'001) {
    EXPECT_OK(device_->copy(one(hop + 20'001, hop, bytes.size()), stream));
    EXPECT_OK(device_->scrub(hop, bytes.size(), stream));
  }
  EXPECT_OK(device_->copy(one(out.data(), hop, bytes.size()), stream));
  EXPECT_OK(finish(*device_, stream));
  EXPECT_TRUE(out == bytes);
  EXPECT_OK(device_->destroy_stream(stream));
}

TEST_P(DeviceWork, AnEventOrdersTwoStreams) {
  const Place place = make_place(*device_, grain_);
  const Stream writer = new_stream();
  const Stream reader = new_stream();
  const auto written = device_->create_event().value();
  const auto read = device_->create_event().value();
  for (std::uint32_t round = 0; round < 50; ++round) {
    const auto bytes = pattern(5'000, round);
    std::vector<std::byte> out(bytes.size());
    EXPECT_OK(device_->wait_event(writer, *read));
    EXPECT_OK(device_->copy(one(place.base(), bytes.data(), bytes.size()), writer));
    EXPECT_OK(device_->record(*written, writer));
    EXPECT_OK(device_->wait_event(reader, *written));
    EXPECT_OK(device_->copy(one(out.data(), place.base(), out.size()), reader));
    EXPECT_OK(device_->record(*read, reader));
    EXPECT_OK(device_->synchronize(*read));
    ASSERT_TRUE(out == bytes) << round;
  }
}

TEST_P(DeviceWork, AStreamIsAwaitedWithoutAnEvent) {
  const Place place = make_place(*device_, grain_);
  const Stream stream = new_stream();
  EXPECT_OK(device_->synchronize(stream));  // which has had no work
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto bytes = pattern(5'000, round);
    std::vector<std::byte> out(bytes.size());
    EXPECT_OK(device_->copy(one(place.base(), bytes.data(), bytes.size()), stream));
    EXPECT_OK(device_->copy(one(out.data(), place.base(), out.size()), stream));
    EXPECT_OK(device_->synchronize(stream));
    ASSERT_TRUE(out == bytes) << round;
  }
  EXPECT_OK(device_->destroy_stream(stream));
}

TEST_P(DeviceWork, AnUnrecordedEventIsComplete) {
  const auto event = device_->create_event().value();
  EXPECT_TRUE(device_->query(*event).value());
  EXPECT_OK(device_->synchronize(*event));
  EXPECT_OK(device_->wait_event({}, *event));
  EXPECT_OK(finish(*device_, {}));
}

TEST_P(DeviceWork, AnEventStaysCompleteOnceSynchronized) {
  const auto event = recorded(*device_, {});
  EXPECT_OK(device_->synchronize(*event));
  EXPECT_TRUE(device_->query(*event).value());
}

TEST_P(DeviceWork, ABatchCancelledBeforeItStartsMovesNothingAndCompletes) {
  const Place place = make_place(*device_, grain_);
  const auto before = pattern(1'000, 6);
  upload(*device_, place.base(), before);
  const auto other = pattern(1'000, 7);
  const auto cancel = std::make_shared<std::atomic<bool>>(true);
  EXPECT_OK(device_->copy(one(place.base(), other.data(), other.size()), {}, {.cancel = cancel}));
  EXPECT_OK(finish(*device_, {}));
  EXPECT_TRUE(download(*device_, place.base(), before.size()) == before);
}

TEST_P(DeviceWork, MalformedWorkIsRefused) {
  std::byte byte{};
  const std::size_t wraps = SIZE_MAX;
  EXPECT_CODE(Code::invalid_argument, device_->copy(nullptr, {}));
  EXPECT_CODE(Code::invalid_argument,
              device_->copy(std::make_shared<std::vector<CopySegment>>(), {}));
  EXPECT_CODE(Code::invalid_argument, device_->copy(one(&byte, nullptr, 1), {}));
  EXPECT_CODE(Code::invalid_argument, device_->copy(one(nullptr, &byte, 1), {}));
  EXPECT_CODE(Code::invalid_argument, device_->copy(one(&byte, &byte, wraps), {}));
  EXPECT_CODE(Code::invalid_argument, device_->scrub(nullptr, 1, {}));
  EXPECT_CODE(Code::invalid_argument, device_->scrub(&byte, wraps, {}));
  EXPECT_OK(finish(*device_, {}));
}

TEST_P(DeviceWork, TheDefaultStreamIsNotTheCallersToDestroy) {
  EXPECT_CODE(Code::invalid_argument, device_->destroy_stream({}));
  EXPECT_OK(finish(*device_, {}));
}

TEST_P(DeviceWork, DestroyingAStreamRunsItsWorkFirst) {
  const Place place = make_place(*device_, grain_);
  const Stream stream = new_stream();
  const auto bytes = pattern(50'000, 8);
  std::vector<std::byte> out(bytes.size());
  EXPECT_OK(device_->copy(one(place.base(), bytes.data(), bytes.size()), stream));
  EXPECT_OK(device_->copy(one(out.data(), place.base(), bytes.size()), stream));
  const auto event = recorded(*device_, stream);
  EXPECT_OK(device_->destroy_stream(stream));
  EXPECT_TRUE(device_->query(*event).value());
  EXPECT_TRUE(out == bytes);
}

}  // namespace
}  // namespace aqua::device
