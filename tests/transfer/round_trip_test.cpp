// SPDX-License-Identifier: Apache-2.0
// Every byte of every layout there and back, on every device, by every way.
#include <gtest/gtest.h>

#include <thread>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::kWays;
using transfer::Mover;
using transfer::Way;

void move(Mover& mover, const transfer::TransferRequest& request, Stream stream) {
  auto prepared = mover.prepare(request);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  const auto posted = prepared->post(stream);
  ASSERT_TRUE(posted.ok()) << posted.error().message;
  Ticket ticket = prepared->ticket();
  const auto waited = ticket.wait();
  ASSERT_TRUE(waited.ok()) << waited.error().message;
  EXPECT_TRUE(*ticket.done());
  EXPECT_EQ(ticket.bytes(), request.layout->packed_bytes(request.blocks.size()));
}

// Out of one cache, into other blocks of another one.
void round_trip(On on, device::Device& dev, Mover& mover, const Geometry& g, Stream stream,
                unsigned seed) {
  constexpr std::size_t kOffset = 65;
  const std::size_t n = std::min<std::size_t>(g.block_count, 9);
  TestCache from(dev, g, seed);
  TestCache to(dev, g, seed + 1);
  const auto out_blocks = some_blocks(g, n, seed + 2);
  const auto in_blocks = some_blocks(g, n, seed + 3);
  DeviceMemory tensor(dev, kOffset + from.layout.packed_bytes(n) + 130, tensor_on(on));
  Bytes tensor_model = random_bytes(tensor.bytes(), seed + 4);
  tensor.write(tensor_model);

  transfer::TransferRequest request;
  request.layout = &from.layout;
  request.blocks = out_blocks;
  request.tensor = tensor.base();
  request.tensor_bytes = tensor.bytes();
  request.offset = kOffset;
  move(mover, request, stream);
  for_each_byte(g, out_blocks, [&](std::size_t cache, std::size_t packed) {
    tensor_model[kOffset + packed] = from.model[TestCache::kMargin + cache];
  });
  EXPECT_TRUE(tensor.read() == tensor_model) << "offloaded bytes, or canaries around them";
  EXPECT_TRUE(from.memory.read() == from.model) << "the source changed";

  request.layout = &to.layout;
  request.blocks = in_blocks;
  request.direction = Direction::fetch;
  move(mover, request, stream);
  for_each_byte(g, in_blocks, [&](std::size_t cache, std::size_t packed) {
    to.model[TestCache::kMargin + cache] = tensor_model[kOffset + packed];
  });
  EXPECT_TRUE(to.memory.read() == to.model) << "fetched bytes, or others of the cache";
  EXPECT_TRUE(tensor.read() == tensor_model) << "the tensor changed";
}

class RoundTrip : public ::testing::TestWithParam<std::tuple<Geometry, OnAndWay>> {};

TEST_P(RoundTrip, ReturnsEveryByteToOtherBlocksAndTouchesNoOther) {
  const auto& [geometry, on_and_way] = GetParam();
  const auto dev = open(std::get<0>(on_and_way));
  const Stream stream = must(dev->create_stream());
  {
    Mover mover(*dev, mover_options(std::get<1>(on_and_way)));
    for (unsigned seed = 10; seed < 30; seed += 10) {
      round_trip(std::get<0>(on_and_way), *dev, mover, geometry, stream, seed);
    }
    mover.sweep();
    EXPECT_EQ(mover.in_flight(), 0U);
  }
  must(dev->destroy_stream(stream));
}

INSTANTIATE_TEST_SUITE_P(Layouts, RoundTrip,
                         ::testing::Combine(::testing::ValuesIn(geometries()),
                                            ::testing::Combine(::testing::ValuesIn(kPlaces),
                                                               ::testing::ValuesIn(kWays))),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + name_of(std::get<1>(test.param));
                         });

class Concurrent : public ::testing::TestWithParam<OnAndWay> {};

TEST_P(Concurrent, ThreadsWithStreamsOfTheirOwnShareOneMover) {
  const auto dev = open(std::get<0>(GetParam()));
  auto options = mover_options(std::get<1>(GetParam()));
  options.staging.pairs = 3;
  {
    Mover mover(*dev, options);
    std::vector<std::thread> engines;
    for (unsigned t = 0; t < 3; ++t) {
      engines.emplace_back([&, t] {
        const Stream stream = must(dev->create_stream());
        for (unsigned round = 0; round < 3; ++round) {
          round_trip(std::get<0>(GetParam()), *dev, mover, geometries()[t], stream,
                     100 * t + 10 * round);
          mover.sweep();
        }
        must(dev->destroy_stream(stream));
      });
    }
    for (auto& engine : engines) engine.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Concurrent, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
