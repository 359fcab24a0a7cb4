// SPDX-License-Identifier: Apache-2.0
// The device contract, part five: slabs that are filled, sealed, and only read after that.
#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

class DeviceSealing : public Contract {
 protected:
  // A sealed slab, filled by pattern(`seed`).
  [[nodiscard]] std::unique_ptr<Slab> publish(std::uint32_t seed) {
    Place place = place_slab(*device_, device_->create_slab(grain_, SlabUse::publish).value());
    upload(*device_, place.base(), pattern(grain_, seed));
    EXPECT_OK(device_->unmap(*place.range, 0, grain_));
    EXPECT_OK(device_->seal(*place.slab));
    return std::move(place.slab);
  }
};
AQUA_CONTRACT_SUITE(DeviceSealing);

TEST_P(DeviceSealing, WhatWasPublishedIsReadHereAndWhereItIsImported) {
  const auto slab = publish(1);
  auto fd = device_->export_slab(*slab);
  ASSERT_TRUE(fd.ok());
  const auto other = open_kind(GetParam(), kTotal);
  const auto imported = other->import_slab(std::move(fd).value(), grain_, SlabUse::publish);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const auto mine = device_->reserve(grain_).value();
  const auto theirs = other->reserve(grain_).value();
  EXPECT_OK(device_->map(*mine, 0, *slab, MapAccess::read_only));
  EXPECT_OK(other->map(*theirs, 0, **imported, MapAccess::read_only));
  EXPECT_TRUE(download(*device_, mine->base(), grain_) == pattern(grain_, 1));
  EXPECT_TRUE(download(*other, theirs->base(), grain_) == pattern(grain_, 1));
}

TEST_P(DeviceSealing, NobodyMapsASealedSlabToWriteIt) {
  const auto slab = publish(2);
  const auto imported =
      device_->import_slab(device_->export_slab(*slab).value(), grain_, SlabUse::publish).value();
  const auto range = device_->reserve(grain_).value();
  EXPECT_CODE(Code::permission_denied, device_->map(*range, 0, *slab));
  EXPECT_CODE(Code::permission_denied, device_->map(*range, 0, *imported));
  EXPECT_OK(device_->map(*range, 0, *imported, MapAccess::read_only)) << "the place is still free";
}

TEST_P(DeviceSealing, WhileItIsMappedToBeWrittenASlabIsNotSealed) {
  const Place place = place_slab(*device_, device_->create_slab(grain_, SlabUse::publish).value());
  EXPECT_CODE(Code::failed_precondition, device_->seal(*place.slab));
  upload(*device_, place.base(), pattern(grain_, 3));  // and can still be written
  EXPECT_OK(device_->unmap(*place.range, 0, grain_));
  EXPECT_OK(device_->map(*place.range, 0, *place.slab, MapAccess::read_only));
  EXPECT_OK(device_->seal(*place.slab));
  EXPECT_OK(device_->seal(*place.slab)) << "again";
  EXPECT_TRUE(download(*device_, place.base(), grain_) == pattern(grain_, 3));
}

TEST_P(DeviceSealing, AnAddressRangeThatGoesTakesItsMappingsAlong) {
  Place place = place_slab(*device_, device_->create_slab(grain_, SlabUse::publish).value());
  place.range.reset();
  EXPECT_OK(device_->seal(*place.slab));
}

TEST_P(DeviceSealing, OnlyWhatIsSealedLeavesTheProcess) {
  const auto slab = device_->create_slab(grain_, SlabUse::publish).value();
  EXPECT_CODE(Code::failed_precondition, device_->export_slab(*slab));
  EXPECT_OK(device_->seal(*slab));
  EXPECT_OK(device_->export_slab(*slab));
}

TEST_P(DeviceSealing, WhatIsLentIsNeverSealed) {
  const auto slab = device_->create_slab(grain_).value();
  EXPECT_CODE(Code::failed_precondition, device_->seal(*slab));
  const auto imported = device_->import_slab(device_->export_slab(*slab).value(), grain_).value();
  EXPECT_CODE(Code::invalid_argument, device_->seal(*imported)) << "not this process's slab";
}

TEST_P(DeviceSealing, APublishedSlabTakesItsMakersCapacityUntilItGoes) {
  const std::size_t before = device_->free_bytes();
  auto slab = publish(4);
  EXPECT_EQ(device_->free_bytes(), before - grain_);
  slab.reset();
  EXPECT_EQ(device_->free_bytes(), before);
}

}  // namespace
}  // namespace aqua::device
