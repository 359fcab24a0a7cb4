// SPDX-License-Identifier: Apache-2.0
#include "lending/take_slabs.hpp"

#include <gtest/gtest.h>

#include "aqua/types.hpp"
#include "device/memfd/device.hpp"

namespace aqua::lending {
namespace {

using namespace aqua::literals;

struct TakeSlabs : ::testing::Test {
  std::unique_ptr<device::Device> device = device::open_emulated({.total_bytes = 16_MiB}).value();
};

TEST_F(TakeSlabs, RoundsDownToWholeSlabs) {
  const auto slabs = take_slabs(*device, 11_MiB, 4_MiB);
  ASSERT_TRUE(slabs.ok()) << slabs.error().message;
  EXPECT_EQ(slabs->size(), 2u);
  EXPECT_EQ(device->free_bytes(), 8_MiB);
}

TEST_F(TakeSlabs, MoreThanIsFreeTakesNothingAndTellsBoth) {
  const auto slabs = take_slabs(*device, 32_MiB, 4_MiB);
  ASSERT_FALSE(slabs.ok());
  EXPECT_EQ(slabs.error().code, Code::resource_exhausted);
  EXPECT_EQ(slabs.error().message, "lend: 33554432 bytes wanted, 16777216 free; nothing was lent");
  EXPECT_EQ(device->free_bytes(), 16_MiB);
}

TEST_F(TakeSlabs, LessThanASlabIsRefused) {
  const auto slabs = take_slabs(*device, 1_MiB, 4_MiB);
  ASSERT_FALSE(slabs.ok());
  EXPECT_EQ(slabs.error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::lending
