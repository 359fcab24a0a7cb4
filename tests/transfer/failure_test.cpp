// SPDX-License-Identifier: Apache-2.0
// Wrong requests, dying memory, and a device that refuses any call in the middle.
#include <gtest/gtest.h>

#include <limits>

#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::Way;

class Failure : public MoverTest {};

TEST_P(Failure, PrepareRefusesWrongRequestsAndChangesNothing) {
  const auto code_of = [&](auto change) {
    transfer::TransferRequest r = request(Direction::fetch);
    change(r);
    const auto prepared = mover->prepare(r);
    return prepared.ok() ? std::optional<Code>{} : prepared.error().code;
  };
  const std::vector<std::uint32_t> unknown{0, 12};
  const std::vector<std::uint32_t> twice{3, 4, 3};
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(code_of([](auto& r) { r.layout = nullptr; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.tensor = nullptr; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.blocks = unknown; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.blocks = twice; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.offset += 101; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.offset = kHuge - 8; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.tensor_bytes = 10; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.offset += 100; }), std::nullopt) << "fits exactly";
  EXPECT_TRUE(cache.memory.read() == cache.model);
  EXPECT_EQ(mover->in_flight(), 0U);
}

TEST_P(Failure, NoBlocksAreDoneAtOnce) {
  transfer::TransferRequest r = request(Direction::offload);
  r.blocks = {};
  auto transfer = must(mover->prepare(r));
  must(transfer.post(stream));
  EXPECT_TRUE(*transfer.ticket().done());
  EXPECT_TRUE(*transfer.ticket().layer_done(7));
  EXPECT_EQ(transfer.ticket().bytes(), 0U);
}

TEST_P(Failure, TheVerbsOutOfOrderAreRefused) {
  EXPECT_EQ(Ticket().done().error().code, Code::failed_precondition);
  EXPECT_EQ(Ticket().stream_wait({}, 0).error().code, Code::failed_precondition);
  auto transfer = must(mover->prepare(request(Direction::offload)));
  Ticket early = transfer.ticket();
  EXPECT_FALSE(*early.done());
  EXPECT_EQ(early.wait().error().code, Code::failed_precondition);
  must(transfer.post(stream));
  EXPECT_EQ(transfer.post(stream).error().code, Code::failed_precondition);
  must(early.wait());
}

TEST_P(Failure, CancelledOrDroppedBeforePostNeverMoves) {
  const Bytes before = random_bytes(tensor.bytes(), 3);
  tensor.write(before);
  auto cancelled = must(mover->prepare(request(Direction::offload)));
  cancelled.ticket().cancel();
  EXPECT_EQ(cancelled.post(stream).error().code, Code::cancelled);
  auto dropped = std::make_optional(must(mover->prepare(request(Direction::offload))));
  Ticket ticket = dropped->ticket();
  dropped.reset();
  EXPECT_EQ(ticket.done().error().code, Code::cancelled);
  drain(*dev, stream);
  EXPECT_TRUE(tensor.read() == before);
}

TEST_P(Failure, DeadMemoryIsDataLossAndTheStreamGoesOn) {
  if (dev->info().kind == device::Kind::cuda)
    GTEST_SKIP() << "a GPU's memory dies with its context";
  device::poison_range(*dev, tensor.base() + kOffset + packed() / 2, 1);
  for (const Direction direction : {Direction::offload, Direction::fetch}) {
    auto transfer = must(mover->prepare(request(direction)));
    must(transfer.post(stream));
    Ticket ticket = transfer.ticket();
    EXPECT_EQ(ticket.wait().error().code, Code::data_loss);
    EXPECT_EQ(ticket.done().error().code, Code::data_loss);
    EXPECT_EQ(ticket.layer_done(geometry.layers - 1).error().code, Code::data_loss);
  }
  cache.memory.write(cache.model);  // the fetch left its blocks undefined
  DeviceMemory healthy(*dev, packed());
  transfer::TransferRequest r = request(Direction::offload);
  r.tensor = healthy.base();
  r.tensor_bytes = healthy.bytes();
  r.offset = 0;
  auto transfer = must(mover->prepare(r));
  must(transfer.post(stream));
  must(transfer.ticket().wait());
  EXPECT_TRUE(healthy.read() == packed_form(cache.model));
}

// Refuses the k-th call, for every k, behind a gate: nothing has started, so nothing may
// move. Without `once` the device refuses everything from there on, even the clean-up.
class Refusal : public MoverTest {
 protected:
  void run(Direction direction, bool once, bool gated) {
    FaultyDevice faulty(*dev);
    transfer::MoverOptions options = mover_options(std::get<1>(GetParam()));
    options.staging.poison_on_release = false;  // it would swallow refusals
    Mover faulty_mover(faulty, options);
    unsigned refused_posts = 0;
    for (unsigned k = 1;; ++k) {
      cache.memory.write(cache.model);
      const Bytes tensor_before = random_bytes(tensor.bytes(), k);
      tensor.write(tensor_before);
      std::optional<Gate> gate;
      if (gated) gate.emplace(*dev, stream);
      faulty.refuse(k, once ? k : std::numeric_limits<unsigned>::max());
      auto transfer = faulty_mover.prepare(request(direction));
      Result<void> posted;
      if (transfer.ok()) posted = transfer->post(stream);
      const bool refused = faulty.refused_any();
      faulty.refuse_none();
      if (gated && once && transfer.ok() && refused) {
        const auto early = transfer->ticket().done();
        EXPECT_TRUE(early.ok() && !*early) << "not over while its work is queued, call " << k;
      }
      gate.reset();
      if (!refused) {
        must(posted);
        must(transfer->ticket().wait());
        break;
      }
      if (!transfer.ok()) {
        EXPECT_EQ(transfer.error().code, FaultyDevice::kCode) << "call " << k;
      } else {
        ++refused_posts;
        EXPECT_EQ(posted.error().code, FaultyDevice::kCode) << "call " << k;
        Ticket ticket = transfer->ticket();
        EXPECT_EQ(ticket.wait().error().code, FaultyDevice::kCode) << "call " << k;
        EXPECT_EQ(ticket.done().error().code, FaultyDevice::kCode) << "call " << k;
      }
      drain(*dev, stream);
      expect_intact(direction, tensor_before, gated, k);
      faulty_mover.sweep();
      ASSERT_EQ(faulty_mover.in_flight(), 0U) << "call " << k;
    }
    EXPECT_GT(refused_posts, geometry.layers);
  }
  void expect_intact(Direction direction, Bytes tensor_before, bool gated, unsigned k) {
    Bytes cache_now = cache.memory.read();
    Bytes tensor_now = tensor.read();
    const bool takes = takes_back(std::get<0>(GetParam()));
    if (!gated || !takes) {  // what had started may have moved; take the destination out of account
      if (direction == Direction::offload) {
        std::fill_n(tensor_now.begin() + kOffset, packed(), std::byte{});
        std::fill_n(tensor_before.begin() + kOffset, packed(), std::byte{});
      } else {
        for_each_byte(geometry, blocks, [&](std::size_t at, std::size_t) {
          cache_now[TestCache::kMargin + at] = cache.model[TestCache::kMargin + at];
        });
      }
    }
    EXPECT_TRUE(cache_now == cache.model) << "call " << k;
    EXPECT_TRUE(tensor_now == tensor_before) << "call " << k;
  }
};

TEST_P(Refusal, OfOneCallBehindAGateMovesNothing) {
  run(Direction::offload, true, true);
  run(Direction::fetch, true, true);
}
TEST_P(Refusal, OfAllCallsFromOneOnBehindAGateMovesNothing) {
  run(Direction::offload, false, true);
  run(Direction::fetch, false, true);
}
TEST_P(Refusal, OfOneCallWhileRunningTouchesOnlyTheDestination) {
  run(Direction::offload, true, false);
  run(Direction::fetch, true, false);
}

TEST_P(Refusal, WhatATransferHoldsIsHeldUntilWhatWasQueuedHasRun) {
  FaultyDevice faulty(*dev);
  transfer::MoverOptions options = mover_options(std::get<1>(GetParam()));
  options.staging.poison_on_release = false;
  Mover faulty_mover(faulty, options);
  for (const bool once : {true, false}) {
    auto pin = std::make_shared<int>(1);
    const std::weak_ptr<int> pinned = pin;
    transfer::TransferRequest kept = request(Direction::offload);
    kept.keep = std::move(pin);
    auto transfer = must(faulty_mover.prepare(kept));
    kept.keep.reset();
    Gate gate(*dev, stream);
    faulty.refuse(7, once ? 7 : std::numeric_limits<unsigned>::max());
    EXPECT_EQ(transfer.post(stream).error().code, FaultyDevice::kCode);
    faulty.refuse_none();
    for (int i = 0; i < 100; ++i) faulty_mover.sweep();
    EXPECT_FALSE(pinned.expired()) << (once ? "one call refused" : "all calls refused");
    gate.open();
    drain(*dev, stream);
    EXPECT_EQ(transfer.ticket().wait().error().code, FaultyDevice::kCode);
    faulty_mover.sweep();
    EXPECT_TRUE(pinned.expired());
  }
}

// Where no event is ever to be had, the streams themselves are waited for.
TEST_P(Refusal, OfEveryCallForGoodIsWaitedOut) {
  FaultyDevice faulty(*dev);
  Mover faulty_mover(faulty, mover_options(std::get<1>(GetParam())));
  auto transfer = must(faulty_mover.prepare(request(Direction::offload)));
  Gate gate(*dev, stream);
  const auto behind = must(dev->create_event());
  faulty.refuse(7, std::numeric_limits<unsigned>::max());
  EXPECT_EQ(transfer.post(stream).error().code, FaultyDevice::kCode);
  must(dev->record(*behind, stream));
  faulty_mover.sweep();
  EXPECT_FALSE(must(transfer.ticket().done())) << "held up";
  gate.open();
  EXPECT_EQ(transfer.ticket().wait().error().code, FaultyDevice::kCode);
  EXPECT_TRUE(must(dev->query(*behind)));
}

INSTANTIATE_TEST_SUITE_P(Devices, Failure, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(Devices, Refusal, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
