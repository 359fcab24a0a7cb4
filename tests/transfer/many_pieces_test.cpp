// SPDX-License-Identifier: Apache-2.0
// More pieces than the lists of kernels have room for (262,144): the bytes are right whichever
// way was asked for, and it is known which one was taken.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::Way;

constexpr std::size_t kPieces = 270'000;

struct Calls {
  std::size_t single = 0, batched = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Calls& calls) {
    return out << calls.single << " single, " << calls.batched << " batched";
  }
};

class ManyPieces : public testing::TestWithParam<On> {
 protected:
  ~ManyPieces() override { must(dev->destroy_stream(stream)); }
  [[nodiscard]] Calls calls() const {
    return {driver->calls("cuMemcpyAsync"), driver->calls("cuMemcpyBatchAsync")};
  }
  // All blocks out, by `way`. The calls that it took.
  Calls offload(Way way) {
    Mover mover(*dev, mover_options(way));
    const Bytes before = random_bytes(cache.memory.bytes(), static_cast<unsigned>(way) + 7);
    cache.memory.write(before);
    transfer::TransferRequest request;
    request.layout = &cache.layout;
    request.blocks = blocks;
    request.tensor = tensor.base();
    request.tensor_bytes = tensor.bytes();
    request.direction = Direction::offload;
    auto transfer = must(mover.prepare(request));
    Gate gate(*dev, stream);  // no list is given back meanwhile
    // A queue takes about a thousand commands: who posted more behind a gate would wait for ever.
    if (way == Way::each) gate.open();
    const Calls so_far = calls();
    must(transfer.post(stream));
    const Calls now = calls();
    gate.open();
    must(transfer.ticket().wait());
    Bytes form(tensor.bytes());
    for_each_byte(geometry, blocks, [&](std::size_t in_cache, std::size_t at) {
      form[at] = before[TestCache::kMargin + in_cache];
    });
    EXPECT_TRUE(tensor.read() == form);
    return {now.single - so_far.single, now.batched - so_far.batched};
  }

  const Geometry geometry{"", 1, 1, kPieces, 32, 1, 16, 0, 32 * kPieces};
  std::unique_ptr<device::Device> dev = open(GetParam());
  const stand_in::Hooks* const driver = stand_in::hooks();  // which `dev` has loaded
  Stream stream = must(dev->create_stream());
  TestCache cache{*dev, geometry, 1};
  std::vector<std::uint32_t> blocks = some_blocks(geometry, kPieces, 2);
  DeviceMemory tensor{*dev, kPieces * 16, tensor_on(GetParam())};
};

constexpr std::size_t kBatches = (kPieces + 4'095) / 4'096;  // a call takes 4096

TEST_P(ManyPieces, EachIsACopyOfItsOwn) {
  EXPECT_EQ(offload(Way::each), (Calls{kPieces, 0}));
}
TEST_P(ManyPieces, BatchesTakeThemAll) {
  EXPECT_EQ(offload(Way::batched), (Calls{0, kBatches}));
}
// A launch takes 32,768, whose list is a copy of its own; eight fill the ring, and the rest goes in
// batches.
constexpr std::size_t kLists = 262'144 / 32'768;
constexpr std::size_t kRest = (kPieces - 262'144 + 4'095) / 4'096;
TEST_P(ManyPieces, KernelsTakeAsManyAsTheirListsHaveRoomFor) {
  EXPECT_EQ(offload(Way::kernel), (Calls{kLists, kRest}));
}
// In parts of 65,536 pieces, five of them, which go over the link in bulk.
TEST_P(ManyPieces, StagingGathersByKernelWhileTheRingHasRoom) {
  EXPECT_EQ(offload(Way::staged), (Calls{kLists + 5, kRest}));
}

INSTANTIATE_TEST_SUITE_P(Devices, ManyPieces, testing::ValuesIn(kDevices),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
