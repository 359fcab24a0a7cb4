// SPDX-License-Identifier: Apache-2.0
// What a transfer was planned to do is what the device says really ran.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using device::CopyCounts;
using transfer::Direction;
using transfer::Way;

class WhatRan : public MoverTest {
 protected:
  [[nodiscard]] static On on() { return std::get<0>(GetParam()); }
  [[nodiscard]] static Way way() { return std::get<1>(GetParam()); }
  // The counts of one transfer, in both directions, of a tensor there.
  [[nodiscard]] CopyCounts counts_of(const DeviceMemory& far) {
    const CopyCounts before = dev->copy_counts();
    for (const Direction direction : {Direction::offload, Direction::fetch}) {
      transfer::TransferRequest r = request(direction);
      r.tensor = far.base();
      auto prepared = must(mover->prepare(r));
      must(prepared.post(stream));
      must(prepared.ticket().wait());
    }
    return dev->copy_counts().since(before);
  }
};

TEST_P(WhatRan, IsTheWayThatWasChosen) {
  const CopyCounts ran = counts_of(tensor);
  EXPECT_EQ(ran.unreachable + ran.full + ran.refused, 0U);
  if (takes_back(on())) {  // such a device has one way, and says so of any other
    EXPECT_GT(ran.each, 0U);
    EXPECT_EQ(ran.kernel + ran.batched, 0U);
    EXPECT_EQ(ran.unsupported > 0, way() != Way::each);
    return;
  }
  EXPECT_EQ(ran.unsupported, 0U);
  EXPECT_EQ(ran.kernel > 0, way() == Way::kernel || way() == Way::staged);
  EXPECT_EQ(ran.batched > 0, way() == Way::batched);
  EXPECT_EQ(ran.each > 0, way() == Way::each || way() == Way::staged);
}

// Staging reaches it with bulk copies, which any memory takes.
TEST_P(WhatRan, OfPageableMemoryIsACommandABlockAndIsCounted) {
  const CopyCounts ran = counts_of({*dev, tensor.bytes(), Where::pageable_host});
  // To a device that takes its memory back, any host memory is alike.
  const bool reaches = takes_back(on()) || way() == Way::each || way() == Way::staged;
  EXPECT_EQ(ran.unreachable > 0, !reaches);
  EXPECT_GT(ran.each, 0U);
  EXPECT_EQ(ran.batched, 0U);
  EXPECT_EQ(ran.kernel > 0, way() == Way::staged && !takes_back(on()));
}

INSTANTIATE_TEST_SUITE_P(Devices, WhatRan, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
