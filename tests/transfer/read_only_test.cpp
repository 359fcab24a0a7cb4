// SPDX-License-Identifier: Apache-2.0
// Transfers to and from memory that is mapped read-only.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using device::MapAccess;
using transfer::Direction;

class ReadOnly : public MoverTest {
 protected:
  [[nodiscard]] Result<void> run(const transfer::TransferRequest& r) {
    auto prepared = mover->prepare(r);
    if (!prepared.ok()) return std::move(prepared).error();
    must(prepared->post(stream));
    return prepared->ticket().wait();
  }
  // One slab, to be written at open() and only read at closed().
  const std::size_t bytes_ = (tensor.bytes() + dev->info().granularity - 1) /
                             dev->info().granularity * dev->info().granularity;
  const std::unique_ptr<device::Slab> slab_ = must(dev->create_slab(bytes_));
  const std::unique_ptr<device::AddressRange> open_ = must(dev->reserve(bytes_));
  const std::unique_ptr<device::AddressRange> closed_ = must(dev->reserve(bytes_));
  void SetUp() override {
    must(dev->map(*open_, 0, *slab_));
    must(dev->map(*closed_, 0, *slab_, MapAccess::read_only));
  }
};

TEST_P(ReadOnly, ATensorIsFetchedFromAndNotOffloadedTo) {
  transfer::TransferRequest r = request(Direction::offload);
  r.tensor = closed_->base();
  r.tensor_bytes = bytes_;
  EXPECT_EQ(mover->prepare(r).error().code, Code::permission_denied);
  EXPECT_EQ(mover->in_flight(), 0U);
  r.tensor = open_->base();
  must(run(r));
  r.tensor = closed_->base();
  r.direction = Direction::fetch;
  TestCache to(*dev, geometry, 9);
  r.layout = &to.layout;
  must(run(r));
  for_each_byte(geometry, blocks, [&](std::size_t in_cache, std::size_t) {
    const std::size_t at = TestCache::kMargin + in_cache;
    to.model[at] = cache.model[at];
  });
  EXPECT_TRUE(to.memory.read() == to.model);
}

// A cache of two planes whose second half is of somebody else, as a prefix that is shared.
TEST_P(ReadOnly, BlocksOfACacheAreWrittenBesideOthersThatAreNot) {
  const std::size_t grain = dev->info().granularity;
  const auto range = must(dev->reserve(2 * grain));
  const auto mine = must(dev->create_slab(grain));
  const auto shared = must(dev->create_slab(grain));
  must(dev->map(*range, 0, *mine));
  must(dev->map(*range, grain, *shared, MapAccess::read_only));
  const Geometry halves{"", 1, 2, 64, grain / 32, 1, 1000, 0, 1000};
  const Layout layout = halves.layout(range->base());
  transfer::TransferRequest r = request(Direction::fetch);
  r.layout = &layout;
  r.offset = 0;
  for (const std::uint32_t block : {32U, 63U}) {
    blocks = {0, block};
    r.blocks = blocks;
    EXPECT_EQ(mover->prepare(r).error().code, Code::permission_denied) << block;
  }
  EXPECT_EQ(mover->in_flight(), 0U);
  blocks = {0, 31};
  r.blocks = blocks;
  EXPECT_TRUE(run(r).ok());
  r.direction = Direction::offload;
  blocks = {32, 63};
  r.blocks = blocks;
  EXPECT_TRUE(run(r).ok());
}

INSTANTIATE_TEST_SUITE_P(Devices, ReadOnly, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
