// SPDX-License-Identifier: Apache-2.0
// The device contract, part one: physical memory and addresses.
#include "tests/device/contract.hpp"

#include <limits>
#include <type_traits>

#include "device/memfd/device.hpp"

namespace aqua::device {
namespace {

// Handles are borrowed by address: none can be copied or moved by accident.
static_assert(!std::is_copy_constructible_v<Slab> && !std::is_move_constructible_v<Slab>);
static_assert(!std::is_copy_constructible_v<AddressRange>);
static_assert(!std::is_copy_constructible_v<Event> && !std::is_copy_constructible_v<Device>);
static_assert(std::has_virtual_destructor_v<Device> && std::has_virtual_destructor_v<Event>);
static_assert(std::has_virtual_destructor_v<Slab> && std::has_virtual_destructor_v<AddressRange>);
static_assert(std::is_abstract_v<Device>);

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

class DeviceMemory : public Contract {};
AQUA_CONTRACT_SUITE(DeviceMemory);

TEST_P(DeviceMemory, InfoNamesTheDevice) {
  const Info& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.uuid.is_nil());
  EXPECT_GT(info.granularity, 0U);
  EXPECT_EQ(device_->free_bytes(), info.total_bytes);
}

TEST_P(DeviceMemory, TheSameDeviceOpenedAgainHasTheSameUuid) {
  EXPECT_EQ(open_kind(GetParam(), kTotal)->info().uuid, device_->info().uuid);
}

TEST_P(DeviceMemory, ASlabTakesItsBytesUntilItsHandleIsDestroyed) {
  const std::size_t before = device_->free_bytes();
  auto slab = device_->create_slab(2 * grain_);
  ASSERT_TRUE(slab.ok());
  EXPECT_EQ((*slab)->bytes(), 2 * grain_);
  EXPECT_EQ(device_->free_bytes(), before - 2 * grain_);
  slab->reset();
  EXPECT_EQ(device_->free_bytes(), before);
}

TEST_P(DeviceMemory, CreatingMoreThanIsFreeFailsAndChangesNothing) {
  const auto held = device_->create_slab(grain_);
  ASSERT_TRUE(held.ok());
  const std::size_t before = device_->free_bytes();
  EXPECT_CODE(Code::resource_exhausted, device_->create_slab(before + grain_));
  EXPECT_EQ(device_->free_bytes(), before);
  EXPECT_OK(device_->create_slab(before));
}

TEST_P(DeviceMemory, SizesThatAreNotMultiplesOfTheGranularityAreRefused) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, grain_ + 4096, kHuge}) {
    EXPECT_CODE(Code::invalid_argument, device_->create_slab(bytes));
    EXPECT_CODE(Code::invalid_argument, device_->reserve(bytes));
  }
  EXPECT_EQ(device_->free_bytes(), device_->info().total_bytes);
}

TEST_P(DeviceMemory, MoreAddressesThanThereAreCannotBeReserved) {
  EXPECT_CODE(Code::resource_exhausted, device_->reserve(kHuge / grain_ * grain_));
}

TEST_P(DeviceMemory, RangesDoNotOverlap) {
  const auto a = device_->reserve(4 * grain_);
  const auto b = device_->reserve(4 * grain_);
  ASSERT_TRUE(a.ok() && b.ok());
  const bool apart =
      (*a)->base() + (*a)->bytes() <= (*b)->base() || (*b)->base() + (*b)->bytes() <= (*a)->base();
  EXPECT_TRUE(apart);
}

TEST_P(DeviceMemory, SlabsMappedSideBySideAreOneRangeOfBytes) {
  const auto range = device_->reserve(2 * grain_);
  const auto first = device_->create_slab(grain_);
  const auto second = device_->create_slab(grain_);
  ASSERT_TRUE(range.ok() && first.ok() && second.ok());
  ASSERT_TRUE(device_->map(**range, grain_, **second).ok());
  ASSERT_TRUE(device_->map(**range, 0, **first).ok());
  const auto bytes = pattern(10'001, 1);
  std::byte* across = (*range)->base() + grain_ - 5'000;
  upload(*device_, across, bytes);
  EXPECT_EQ(download(*device_, across, bytes.size()), bytes);
}

TEST_P(DeviceMemory, AMappingOutlivesTheSlabHandle) {
  Place place = make_place(*device_, grain_);
  const auto bytes = pattern(grain_, 2);
  upload(*device_, place.base(), bytes);
  place.slab.reset();
  EXPECT_EQ(download(*device_, place.base(), grain_), bytes);
}

TEST_P(DeviceMemory, BytesStayWithTheSlabWhenItIsMappedElsewhere) {
  Place place = make_place(*device_, grain_);
  const auto bytes = pattern(grain_, 3);
  upload(*device_, place.base(), bytes);
  ASSERT_TRUE(device_->unmap(*place.range, 0, grain_).ok());
  const Place other = place_slab(*device_, std::move(place.slab));
  EXPECT_EQ(download(*device_, other.base(), grain_), bytes);
}

TEST_P(DeviceMemory, AnotherSlabCanBeMappedAtTheSameAddress) {
  const Place place = make_place(*device_, grain_);
  const auto old_bytes = pattern(grain_, 4);
  upload(*device_, place.base(), old_bytes);
  const auto next = device_->create_slab(grain_);
  ASSERT_TRUE(next.ok());
  ASSERT_TRUE(device_->unmap(*place.range, 0, grain_).ok());
  ASSERT_TRUE(device_->map(*place.range, 0, **next).ok());
  const auto new_bytes = pattern(grain_, 5);
  upload(*device_, place.base(), new_bytes);
  EXPECT_EQ(download(*device_, place.base(), grain_), new_bytes);
  ASSERT_TRUE(device_->unmap(*place.range, 0, grain_).ok());
  ASSERT_TRUE(device_->map(*place.range, 0, *place.slab).ok());
  EXPECT_EQ(download(*device_, place.base(), grain_), old_bytes);
}

TEST_P(DeviceMemory, OneSlabCanBeMappedTwice) {
  Place place = make_place(*device_, grain_);
  const auto second = device_->reserve(grain_);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(device_->map(**second, 0, *place.slab).ok());
  const auto bytes = pattern(777, 6);
  upload(*device_, place.base(), bytes);
  EXPECT_EQ(download(*device_, (*second)->base(), bytes.size()), bytes);
}

TEST_P(DeviceMemory, MappingOverAMappedPlaceFailsAndChangesNothing) {
  const auto range = device_->reserve(3 * grain_);
  const auto wide = device_->create_slab(2 * grain_);
  const auto other = device_->create_slab(2 * grain_);
  ASSERT_TRUE(range.ok() && wide.ok() && other.ok());
  ASSERT_TRUE(device_->map(**range, 0, **wide).ok());
  const auto bytes = pattern(2 * grain_, 7);
  upload(*device_, (*range)->base(), bytes);
  EXPECT_CODE(Code::failed_precondition, device_->map(**range, 0, **other));
  EXPECT_CODE(Code::failed_precondition, device_->map(**range, grain_, **other));
  EXPECT_EQ(download(*device_, (*range)->base(), bytes.size()), bytes);
}

TEST_P(DeviceMemory, MappingOutsideTheRangeIsRefused) {
  const auto range = device_->reserve(2 * grain_);
  const auto slab = device_->create_slab(2 * grain_);
  ASSERT_TRUE(range.ok() && slab.ok());
  for (const std::size_t offset :
       {std::size_t{1}, grain_, 2 * grain_, 3 * grain_, kHuge / grain_ * grain_, kHuge}) {
    EXPECT_CODE(Code::invalid_argument, device_->map(**range, offset, **slab)) << offset;
  }
  EXPECT_OK(device_->map(**range, 0, **slab));
}

TEST_P(DeviceMemory, UnmappingTakesExactlyOneMappedSlab) {
  const auto range = device_->reserve(4 * grain_);
  const auto slab = device_->create_slab(2 * grain_);
  ASSERT_TRUE(range.ok() && slab.ok());
  EXPECT_CODE(Code::failed_precondition, device_->unmap(**range, 0, 2 * grain_));
  ASSERT_TRUE(device_->map(**range, 0, **slab).ok());
  EXPECT_CODE(Code::invalid_argument, device_->unmap(**range, 0, grain_));
  EXPECT_CODE(Code::failed_precondition, device_->unmap(**range, grain_, grain_));
  EXPECT_CODE(Code::invalid_argument, device_->unmap(**range, 0, 5 * grain_));
  EXPECT_CODE(Code::invalid_argument, device_->unmap(**range, 0, kHuge / grain_ * grain_));
  EXPECT_CODE(Code::invalid_argument, device_->unmap(**range, 0, 0));
  EXPECT_OK(device_->unmap(**range, 0, 2 * grain_));
  EXPECT_CODE(Code::failed_precondition, device_->unmap(**range, 0, 2 * grain_));
}

TEST_P(DeviceMemory, AnotherDevicesRangeIsRefused) {
  const auto other = open_kind(GetParam(), kTotal);
  const auto range = other->reserve(grain_);
  const auto slab = device_->create_slab(grain_);
  ASSERT_TRUE(range.ok() && slab.ok());
  EXPECT_CODE(Code::invalid_argument, device_->map(**range, 0, **slab));
  EXPECT_CODE(Code::invalid_argument, device_->unmap(**range, 0, grain_));
}

}  // namespace
}  // namespace aqua::device
