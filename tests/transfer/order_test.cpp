// SPDX-License-Identifier: Apache-2.0
// What the engine posts before a transfer happens before it, what it posts after happens
// after it, and what a ticket says meanwhile.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;

class Order : public MoverTest {};

TEST_P(Order, OffloadSeesEarlierWritesOfTheStreamAndNotLaterOnes) {
  const Bytes before = random_bytes(cache.memory.bytes(), 50);
  const Bytes after = random_bytes(cache.memory.bytes(), 51);
  for (int round = 0; round < 5; ++round) {
    auto transfer = must(mover->prepare(request(Direction::offload)));
    cache.memory.post_write(0, before, stream);
    must(transfer.post(stream));
    cache.memory.post_write(0, after, stream);
    EXPECT_TRUE(tensor.read(kOffset, packed(), stream) == packed_form(before));
  }
}

TEST_P(Order, FetchSeesEarlierWritesToTheTensorAndLaterWorkSeesTheBlocks) {
  for (unsigned round = 0; round < 5; ++round) {
    const Bytes form = random_bytes(packed(), 60 + round);
    auto transfer = must(mover->prepare(request(Direction::fetch)));
    tensor.post_write(kOffset, form, stream);
    must(transfer.post(stream));
    tensor.post_write(kOffset, random_bytes(packed(), 1), stream);
    const Bytes seen = cache.memory.read(0, cache.memory.bytes(), stream);
    EXPECT_TRUE(packed_form(seen) == form);
  }
}

TEST_P(Order, OffloadThenFetchOnOneStreamNeedNoHost) {
  auto out = must(mover->prepare(request(Direction::offload)));
  auto in = must(mover->prepare(request(Direction::fetch)));
  must(out.post(stream));
  cache.memory.post_write(0, Bytes(cache.memory.bytes()), stream);
  must(in.post(stream));
  const Bytes seen = cache.memory.read(0, cache.memory.bytes(), stream);
  EXPECT_TRUE(packed_form(seen) == packed_form(cache.model));
}

TEST_P(Order, LayersArriveInOrderWithTheirBytes) {
  Gate gate(*dev, stream);
  auto transfer = must(mover->prepare(request(Direction::offload)));
  must(transfer.post(stream));
  Ticket ticket = transfer.ticket();
  EXPECT_FALSE(*ticket.done());
  for (unsigned layer = 0; layer < geometry.layers; ++layer) {
    EXPECT_FALSE(*ticket.layer_done(layer));
  }
  gate.open();
  const Bytes form = packed_form(cache.model);
  const std::size_t layer_bytes = packed() / geometry.layers;
  const Stream reader = must(dev->create_stream());
  for (unsigned layer = 0; layer < geometry.layers; ++layer) {
    while (!must(ticket.layer_done(layer))) {
      for (unsigned later = layer + 1; later < geometry.layers; ++later) {
        // A later answer may overtake an earlier one, but only if all arrived in between.
        if (must(ticket.layer_done(later))) {
          EXPECT_TRUE(must(ticket.layer_done(layer)));
        }
      }
    }
    const Bytes seen = tensor.read(kOffset + layer * layer_bytes, layer_bytes, reader);
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(),
                           form.begin() + static_cast<std::ptrdiff_t>(layer * layer_bytes)));
  }
  must(ticket.wait());
  EXPECT_TRUE(*ticket.layer_done(0));
  EXPECT_EQ(ticket.layer_done(geometry.layers).error().code, Code::invalid_argument);
  must(dev->destroy_stream(reader));
}

TEST_P(Order, CancelBeforeTheStartMovesNothing) {
  const Bytes before = random_bytes(tensor.bytes(), 70);
  tensor.write(before);
  Gate gate(*dev, stream);
  auto transfer = must(mover->prepare(request(Direction::offload)));
  must(transfer.post(stream));
  Ticket ticket = transfer.ticket();
  ticket.cancel();
  EXPECT_FALSE(*ticket.done()) << "not over while its work is still queued";
  gate.open();
  EXPECT_EQ(ticket.wait().error().code, Code::cancelled);
  EXPECT_EQ(ticket.done().error().code, Code::cancelled);
  EXPECT_EQ(ticket.layer_done(0).error().code, Code::cancelled);
  EXPECT_EQ(ticket.stream_wait(stream, 0).error().code, Code::cancelled);
  Bytes expected = before;
  Bytes now = tensor.read();
  if (!takes_back(std::get<0>(GetParam()))) {  // what is queued there runs, over or not
    std::fill_n(now.begin() + kOffset, packed(), std::byte{});
    std::fill_n(expected.begin() + kOffset, packed(), std::byte{});
  }
  EXPECT_TRUE(now == expected);
}

TEST_P(Order, CancelAfterTheEndChangesNothing) {
  auto transfer = must(mover->prepare(request(Direction::offload)));
  must(transfer.post(stream));
  Ticket ticket = transfer.ticket();
  must(ticket.wait());
  ticket.cancel();
  EXPECT_TRUE(*ticket.done());
  EXPECT_TRUE(*ticket.layer_done(0));
}

TEST_P(Order, DroppingEverythingInFlightNeitherWaitsNorCancels) {
  auto pin = std::make_shared<int>(1);
  const std::weak_ptr<int> pinned = pin;
  Gate gate(*dev, stream);
  {
    transfer::TransferRequest kept = request(Direction::offload);
    kept.keep = std::move(pin);
    auto transfer = must(mover->prepare(kept));
    kept.keep.reset();
    must(transfer.post(stream));
    const Ticket ticket = transfer.ticket();
  }
  mover->sweep();
  EXPECT_EQ(mover->in_flight(), 1U);
  EXPECT_FALSE(pinned.expired());
  gate.open();
  EXPECT_TRUE(tensor.read(kOffset, packed(), stream) == packed_form(cache.model));
  while (mover->in_flight() != 0) mover->sweep();
  EXPECT_TRUE(pinned.expired());
}

TEST_P(Order, TicketsOutliveMoverAndDevice) {
  auto transfer = std::make_optional(must(mover->prepare(request(Direction::offload))));
  must(transfer->post(stream));
  Ticket ticket = transfer->ticket();
  transfer.reset();
  mover.reset();
  EXPECT_TRUE(*ticket.done());
  must(ticket.wait());
}

INSTANTIATE_TEST_SUITE_P(Devices, Order, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
