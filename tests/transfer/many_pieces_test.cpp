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
  std::size_t single = 0, batched = 0, launches = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Calls& calls) {
    return out << calls.single << " single, " << calls.batched << " batched, " << calls.launches
               << " launches";
  }
};

// A cache of which all blocks go out, and the calls of the driver that this takes.
class ManyPieces : public ::testing::TestWithParam<On> {
 protected:
  ~ManyPieces() override { must(dev->destroy_stream(stream)); }
  [[nodiscard]] Calls calls() const {
    return {driver->calls("cuMemcpyAsync"), driver->calls("cuMemcpyBatchAsync"),
            driver->calls("cuLaunchKernel")};
  }
  Calls offload(Way way, const Geometry& geometry, const std::vector<std::uint32_t>& blocks) {
    TestCache cache(*dev, geometry, 1);
    DeviceMemory tensor(*dev, cache.layout.packed_bytes(blocks.size()), tensor_on(GetParam()));
    Mover mover(*dev, mover_options(way));
    transfer::TransferRequest request;
    request.layout = &cache.layout;
    request.blocks = blocks;
    request.tensor = tensor.base();
    request.tensor_bytes = tensor.bytes();
    request.direction = Direction::offload;
    { const auto first = must(mover.prepare(request)); }  // staging is made
    const Calls before = calls();
    auto transfer = must(mover.prepare(request));
    Gate gate(*dev, stream);  // no list is given back meanwhile
    // A queue takes about a thousand commands: who posted more behind a gate would wait for ever.
    if (way == Way::each || way == Way::batched) gate.open();
    must(transfer.post(stream));
    const Calls after = calls();
    gate.open();
    must(transfer.ticket().wait());
    Bytes form(tensor.bytes());
    for_each_byte(geometry, blocks, [&](std::size_t in_cache, std::size_t at) {
      form[at] = cache.model[TestCache::kMargin + in_cache];
    });
    EXPECT_TRUE(tensor.read() == form);
    return {after.single - before.single, after.batched - before.batched,
            after.launches - before.launches};
  }
  Calls scattered(Way way) { return offload(way, kApart, some_blocks(kApart, kPieces, 2)); }
  // Nine blocks of which eight are neighbours, in pieces that are nobody's: blocks are named where
  // merging leaves more than an eighth of them.
  Calls in_runs(Way way) {
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t run = 0; run < kPieces; ++run) {
      for (std::uint32_t i = 0; i < 8; ++i) blocks.push_back(9 * run + i);
    }
    return offload(way, kDense, blocks);
  }

  static inline const Geometry kApart{"", 1, 1, kPieces, 32, 1, 16, 0, 32 * kPieces};
  static inline const Geometry kDense{"", 1, 1, 9 * kPieces, 2, 1, 2, 0, 18 * kPieces};
  std::unique_ptr<device::Device> dev = open(GetParam());
  const stand_in::Hooks* const driver = stand_in::hooks();  // which `dev` has loaded
  Stream stream = must(dev->create_stream());
};

TEST_P(ManyPieces, EachIsACopyOfItsOwn) {
  EXPECT_EQ(scattered(Way::each), (Calls{kPieces, 0, 0}));
}
// A call takes 4,096. Eight of them may be on their way; what finds no room goes one by one.
TEST_P(ManyPieces, BatchesTakeWhatTheyHaveRoomFor) {
  const Calls calls = scattered(Way::batched);
  constexpr std::size_t kLast = kPieces % 4'096;
  const std::size_t whole = kPieces - 4'096 * calls.batched;  // pieces left, were all batches full
  EXPECT_GE(calls.batched, 8U);
  EXPECT_THAT(calls.single, ::testing::AnyOf(whole, whole + 4'096 - kLast)) << calls;
  EXPECT_EQ(calls.launches, 0U);
}
// The blocks are one upload, by a kernel as well.
TEST_P(ManyPieces, AKernelTakesThemAllByTheirBlocks) {
  EXPECT_EQ(scattered(Way::kernel), (Calls{0, 0, 2}));
}
// In five parts of 1 MiB, which go over the link in bulk.
TEST_P(ManyPieces, StagingGathersThemByTheirBlocks) {
  EXPECT_EQ(scattered(Way::staged), (Calls{5, 0, 1 + 5}));
}
// A launch takes 32,768, whose list is a launch of its own; eight fill the ring, and the rest goes
// in batches.
constexpr std::size_t kLists = 262'144 / 32'768;
constexpr std::size_t kRest = (kPieces - 262'144 + 4'095) / 4'096;
TEST_P(ManyPieces, RunsOfBlocksAreListedWhileTheRingHasRoom) {
  EXPECT_EQ(in_runs(Way::kernel), (Calls{0, kRest, 2 * kLists}));
}
// In parts of 65,536 pieces, five of them.
TEST_P(ManyPieces, StagingListsRunsOfBlocksWhileTheRingHasRoom) {
  EXPECT_EQ(in_runs(Way::staged), (Calls{5, kRest, 2 * kLists}));
}

INSTANTIATE_TEST_SUITE_P(Devices, ManyPieces, ::testing::ValuesIn(kDevices),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
