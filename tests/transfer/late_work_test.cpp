// SPDX-License-Identifier: Apache-2.0
// What no host may see too early, with the work run late and in many orders: every missing wait
// of a transfer shows here.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;

class LateWork : public MoverTest {
 protected:
  static constexpr unsigned kSeeds = 40;

  // At once, not by work of a stream: as it is in this very moment.
  [[nodiscard]] static Bytes peek(const DeviceMemory& memory) {
    return {memory.base(), memory.base() + memory.bytes()};
  }
  [[nodiscard]] Bytes arrived(Direction direction) const {
    if (direction == Direction::fetch) return packed_form(peek(cache.memory));
    const Bytes all = peek(tensor);
    return {all.begin() + kOffset, all.begin() + static_cast<std::ptrdiff_t>(kOffset + packed())};
  }
  // The source is written on the engine's stream, and overwritten there behind the transfer.
  void move_and_watch(Direction direction, unsigned seed) {
    driver->seed(seed);
    const bool offload = direction == Direction::offload;
    DeviceMemory& source = offload ? cache.memory : tensor;
    const Bytes before = random_bytes(source.bytes(), 100 + seed);
    const Bytes form =
        offload ? packed_form(before)
                : Bytes(before.begin() + kOffset,
                        before.begin() + static_cast<std::ptrdiff_t>(kOffset + packed()));
    auto transfer = must(mover->prepare(request(direction)));
    source.post_write(0, before, stream);
    must(transfer.post(stream));
    source.post_write(0, random_bytes(source.bytes(), 500 + seed), stream);
    Ticket ticket = transfer.ticket();
    const auto layer_bytes = static_cast<std::ptrdiff_t>(packed() / geometry.layers);
    for (unsigned layer = 0; layer < geometry.layers; ++layer) {
      while (!must(ticket.layer_done(layer))) {
      }
      const Bytes now = arrived(direction);
      const auto end = layer_bytes * (layer + 1);
      EXPECT_TRUE(std::equal(form.begin(), form.begin() + end, now.begin()))
          << "layer " << layer << ", seed " << seed;
    }
    must(ticket.wait());
    EXPECT_TRUE(arrived(direction) == form) << "seed " << seed;
  }

  const stand_in::Hooks* const driver = stand_in::hooks();
};

TEST_P(LateWork, ALayerThatIsReportedIsThere) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    move_and_watch(seed % 2 == 0 ? Direction::fetch : Direction::offload, seed);
  }
}

TEST_P(LateWork, ATransferThatIsOverIsThere) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    driver->seed(seed);
    const Bytes before = random_bytes(cache.memory.bytes(), seed);
    auto transfer = must(mover->prepare(request(Direction::offload)));
    cache.memory.post_write(0, before, stream);
    must(transfer.post(stream));
    must(transfer.ticket().wait());
    ASSERT_TRUE(arrived(Direction::offload) == packed_form(before)) << "seed " << seed;
    must(dev->synchronize(stream));
  }
}

TEST_P(LateWork, TheStreamsLaterWorkSeesTheTensorFilled) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    driver->seed(seed);
    const Bytes before = random_bytes(cache.memory.bytes(), seed);
    cache.memory.post_write(0, before, stream);
    auto transfer = must(mover->prepare(request(Direction::offload)));
    must(transfer.post(stream));
    cache.memory.post_write(0, random_bytes(cache.memory.bytes(), 1), stream);
    const Bytes seen = tensor.read(kOffset, packed(), stream);
    ASSERT_TRUE(seen == packed_form(before)) << "seed " << seed;
    must(transfer.ticket().wait());
  }
}

// One pair of buffers for transfers one after the other: what poisons them between two, and the
// second one's filling, wait for what they follow.
TEST_P(LateWork, TransfersInARowShareStagingAndListsUnharmed) {
  transfer::MoverOptions options = mover_options(std::get<1>(GetParam()));
  options.staging.pairs = 1;
  transfer::Mover one(*dev, options);
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    driver->seed(seed);
    const Bytes before = random_bytes(cache.memory.bytes(), seed);
    cache.memory.post_write(0, before, stream);
    {
      auto out = must(one.prepare(request(Direction::offload)));
      must(out.post(stream));
      must(out.ticket().wait());
    }
    one.sweep();
    cache.memory.post_write(0, Bytes(cache.memory.bytes()), stream);
    auto in = must(one.prepare(request(Direction::fetch)));
    must(in.post(stream));
    // Seen by the stream's own later work, without the host.
    const Bytes seen = cache.memory.read(0, cache.memory.bytes(), stream);
    ASSERT_TRUE(packed_form(seen) == packed_form(before)) << "seed " << seed;
    must(in.ticket().wait());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LateWork, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
