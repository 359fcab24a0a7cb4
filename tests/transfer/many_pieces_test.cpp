// More pieces than the lists of kernels have room for (131,072): the bytes are right whichever
// way was asked for, and it is known which one was taken.
#include <gtest/gtest.h>

#include "transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::Way;

constexpr std::size_t kPieces = 140'000;

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
    transfer::Request request;
    request.layout = &cache.layout;
    request.blocks = blocks;
    request.tensor = tensor.base();
    request.tensor_bytes = tensor.bytes();
    request.direction = Direction::offload;
    auto transfer = must(mover.prepare(request));
    const Calls so_far = calls();
    must(transfer.post(stream));
    const Calls now = calls();
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
TEST_P(ManyPieces, AKernelsListFindsNoRoomSoTheyGoInBatches) {
  EXPECT_EQ(offload(Way::kernel), (Calls{0, kBatches}));
}
// A part is of 65,536 pieces: two lists fill the ring, and the rest goes in batches. The single
// copies are the two lists and the three parts in bulk.
TEST_P(ManyPieces, StagingGathersByKernelWhileTheRingHasRoom) {
  EXPECT_EQ(offload(Way::staged), (Calls{2 + 3, (kPieces - 2 * 65'536 + 4'095) / 4'096}));
}

INSTANTIATE_TEST_SUITE_P(Devices, ManyPieces, testing::ValuesIn(kDevices),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
