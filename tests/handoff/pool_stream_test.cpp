// SPDX-License-Identifier: Apache-2.0
// What a KV pool makes of work that failed on the stream of a parcel, whoever has been told of it
// before; of a parcel that is recalled before its stream is there; and of one that comes while
// another one of its id goes.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/pools.hpp"
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

class PoolStreams : public ::testing::Test {
 protected:
  ~PoolStreams() override { (void)emulated::destroy_stream(gpu_, stream_); }
  [[nodiscard]] KvPool join(const std::string& role) {
    return KvPool::attach(gpu_, small_pool(keeper_.socket(), role)).value();
  }
  // All that was asked of the keeper so far is done there: it is asked in order. Who took the last
  // one spoke under a turn of its own, above the giver's.
  void settle(KvPool& pool) {
    KvPool last = join("last");
    ASSERT_TRUE(pool.hand_over({.id = "last", .turn = settled_ += 2}, "last", {}).ok());
    ASSERT_TRUE(last.finish(take(last).number, {}).ok());
  }
  // Work on the stream that fails: it reads a block of the pool that has died.
  Ticket fail(KvPool& pool) {
    const auto dead = blocks_of(pool, 1);
    const LayoutSpec& spec = pool.layout().spec();
    device::poison_range(detail::Internals::impl(gpu_).device(),
                         spec.planes[0] + dead[0] * spec.block_stride, 1);
    tensor_ = gpu_.allocate({.bytes = pool.layout().packed_bytes(1)}).value();
    return gpu_.offload(pool.layout(), dead, *tensor_, stream_).value();
  }

  test::KeeperProcess keeper_;
  Runtime gpu_ = open_small_gpu();
  Stream stream_ = emulated::create_stream(gpu_).value();
  std::optional<AquaTensor> tensor_;
  std::uint64_t settled_ = 0;
};

TEST_F(PoolStreams, AFailureThatATicketHasToldOfHoldsTheParcelBackToo) {
  KvPool prefill = join("prefill");
  const auto blocks = blocks_of(prefill, 1);
  EXPECT_EQ(fail(prefill).wait().error().code, Code::data_loss);
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks}, "decode", stream_).ok());
  const Undelivered back = returned(prefill);
  EXPECT_EQ(back.error.code, Code::data_loss);
  EXPECT_FALSE(back.in_doubt);
  KvPool decode = join("decode");
  // Who has been told of it may go on: nothing has failed since.
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks}, "decode", stream_).ok());
  EXPECT_EQ(take(decode).blocks, blocks);
}

TEST_F(PoolStreams, AFailureThatAReleaseHasSeenHoldsTheParcelBackToo) {
  KvPool prefill = join("prefill");
  KvPool decode = join("decode");
  const auto blocks = blocks_of(prefill, 1), other = blocks_of(prefill, 1);
  (void)fail(prefill);
  ASSERT_TRUE(prefill.release(other, stream_).ok());
  // Streams are waited for in the order of the calls: once this one is there, so is the release.
  ASSERT_TRUE(
      prefill.hand_over({.id = "s", .turn = 1, .blocks = blocks_of(prefill, 1)}, "decode", {})
          .ok());
  (void)take(decode);
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks}, "decode", stream_).ok());
  EXPECT_EQ(returned(prefill).error.code, Code::data_loss);
}

TEST_F(PoolStreams, EveryParcelBehindAFailureComesBackUntilItIsTold) {
  KvPool prefill = join("prefill");
  const auto first = blocks_of(prefill, 1), second = blocks_of(prefill, 1);
  EXPECT_EQ(fail(prefill).wait().error().code, Code::data_loss);
  ASSERT_TRUE(prefill.hand_over({.id = "a", .turn = 1, .blocks = first}, "decode", stream_).ok());
  const std::uint64_t opened = prefill.open({.id = "b", .turn = 1}, "decode").value();
  ASSERT_TRUE(prefill.close(opened, second, 1, "", stream_).ok());
  const Delivery told = told_of(prefill);
  EXPECT_EQ(told.outcome, Delivery::Outcome::refused);
  EXPECT_EQ(told.error.code, Code::data_loss);
  EXPECT_TRUE(told.returned);
  EXPECT_EQ(returned(prefill).parcel.blocks, first);
}

// A parcel that is open at the keeper holds back what is complete of its id. The failure comes
// while the keeper is asked to open it, and after it has.
TEST_F(PoolStreams, WhatAParcelHeldBackWhoseCloseFailsIsTakenAfterAll) {
  KvPool prefill = join("prefill");
  for (const bool is_open : {true, false}) {
    SCOPED_TRACE(is_open);
    const std::string id = is_open ? "a" : "b";
    const auto prompt = blocks_of(prefill, 1), more = blocks_of(prefill, 1);
    ASSERT_TRUE(prefill.hand_over({.id = id, .turn = 1, .blocks = prompt}, "decode", {}).ok());
    settle(prefill);
    EXPECT_EQ(fail(prefill).wait().error().code, Code::data_loss);
    const std::uint64_t opened = prefill.open({.id = id, .turn = 2}, "decode").value();
    while (is_open && prefill.state(opened).value() != ParcelState::open) {
      ASSERT_TRUE(prefill.wait(kPoolPatience));
    }
    ASSERT_TRUE(prefill.close(opened, more, 1, "", stream_).ok());
    const Delivery told = told_of(prefill);
    EXPECT_EQ(told.outcome, Delivery::Outcome::refused);
    EXPECT_EQ(told.error.code, Code::data_loss);
    KvPool decode = join("decode");  // later: it would fetch the prompt ahead
    const Parcel taken = take(decode);
    EXPECT_EQ(taken.blocks, prompt);
    ASSERT_TRUE(decode.finish(taken.number, {}).ok());
  }
}

TEST_F(PoolStreams, WhatIsRecalledIsAsItWasWhetherItsCloseHasBeenOvertakenOrNot) {
  KvPool prefill = join("prefill");
  const auto blocks = blocks_of(prefill, 2);
  const std::vector<std::uint32_t> prefix{blocks[0]}, tail{blocks[1]};
  ASSERT_TRUE(prefill.share(prefix).ok());
  std::uint64_t turn = 0;
  for (const bool overtaken : {false, true}) {
    SCOPED_TRACE(overtaken);
    std::promise<void> go;
    if (overtaken) {
      const auto gone = go.get_future().share();
      ASSERT_TRUE(emulated::launch(gpu_, stream_, [gone] { gone.wait(); }).ok());
    }
    const std::uint64_t number = prefill.open({.id = "r", .turn = ++turn}, "decode").value();
    ASSERT_TRUE(prefill.close(number, blocks, 8, "", stream_).ok());
    if (!overtaken) settle(prefill);
    ASSERT_TRUE(prefill.recall(number).ok());
    const Delivery told = told_of(prefill);
    EXPECT_EQ(told.outcome, Delivery::Outcome::recalled);
    EXPECT_TRUE(told.returned);
    EXPECT_EQ(prefill.status().used, 1U) << "the tail alone";
    go.set_value();
  }
  ASSERT_TRUE(prefill.release(tail, {}).ok());
  ASSERT_TRUE(prefill.release(prefix, {}).ok());
  EXPECT_EQ(prefill.release(prefix, {}).error().code, Code::invalid_argument) << "had once";
  settle(prefill);
  EXPECT_EQ(list_pools(keeper_.socket()).value().at(0).shared, 0U) << "and so the keeper says";
}

// A parcel that is fetched ahead is the member's at the keeper before it is accepted. What the
// member hands over under the same id ends it there, and others get its blocks.
TEST_F(PoolStreams, AParcelThatWasFetchedAheadIsNotAcceptedOnceItsIdIsHandedOver) {
  KvPool giver = join("prefill");
  KvPool taker = join("decode");
  (void)taker.accept(1);  // from now on one is fetched ahead
  ASSERT_TRUE(
      giver.hand_over({.id = "r", .turn = 1, .blocks = blocks_of(giver, 2)}, "decode", {}).ok());
  while (taker.status().ready == 0) ASSERT_TRUE(taker.wait(kPoolPatience));
  std::promise<void> go;
  ASSERT_TRUE(emulated::launch(gpu_, stream_, [&] { go.get_future().wait(); }).ok());
  const auto own = blocks_of(taker, 1);
  ASSERT_TRUE(taker.hand_over({.id = "r", .turn = 9, .blocks = own}, "prefill", stream_).ok());
  EXPECT_TRUE(taker.accept(1).empty()) << "while that is on its way";
  go.set_value();
  EXPECT_EQ(take(giver).blocks, own);
  EXPECT_TRUE(taker.accept(1).empty()) << "it has ended, and its blocks are others'";
  settle(taker);  // whom the keeper has answered by now
  EXPECT_EQ(taker.status().ready, 0U);
}

TEST_F(PoolStreams, AParcelThatWasFetchedAheadIsAcceptedAfterAllWhenAnotherOfItsIdCameBack) {
  KvPool giver = join("prefill");
  KvPool taker = join("decode");
  (void)taker.accept(1);
  const auto prompt = blocks_of(giver, 2);
  ASSERT_TRUE(giver.hand_over({.id = "r", .turn = 5, .blocks = prompt}, "decode", {}).ok());
  while (taker.status().ready == 0) ASSERT_TRUE(taker.wait(kPoolPatience));
  ASSERT_TRUE(
      taker.hand_over({.id = "r", .turn = 2, .blocks = blocks_of(taker, 1)}, "prefill", {}).ok());
  EXPECT_EQ(returned(taker).error.code, Code::aborted);
  EXPECT_EQ(take(taker).blocks, prompt);
}

// Its keeper tells it once, while the parcel is on its way with one that continues it.
TEST_F(PoolStreams, WhatIsSupersededOnItsWayIsToldOfWhenItComesBack) {
  KvPool prefill = join("prefill"), decode = join("decode"), other = join("other");
  ASSERT_TRUE(
      prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks_of(prefill, 1)}, "decode", {})
          .ok());
  const Parcel taken = take(decode);
  const std::uint64_t marker = decode.open({.id = "m", .turn = 1}, "last").value();
  while (decode.state(marker).value() != ParcelState::open) ASSERT_TRUE(decode.wait(kPoolPatience));
  std::promise<void> go;
  const auto gone = go.get_future().share();
  ASSERT_TRUE(emulated::launch(gpu_, stream_, [gone] { gone.wait(); }).ok());
  (void)fail(decode);
  const Parcel next{.id = "r", .turn = taken.turn + 1, .blocks = taken.blocks};
  ASSERT_TRUE(decode.hand_over(next, "last", stream_).ok());
  (void)other.open({"r", 100}, "decode").value();
  (void)other.open({"m", 2}, "last").value();
  EXPECT_EQ(told_of(decode).number, marker) << "what it is told after that of the parcel";
  EXPECT_TRUE(decode.superseded().empty()) << "it is on its way";
  go.set_value();
  EXPECT_EQ(returned(decode).error.code, Code::data_loss);
  EXPECT_EQ(decode.superseded(), std::vector{taken.number});
  EXPECT_TRUE(decode.finish(taken.number, {}).ok());
}

TEST_F(PoolStreams, WhatWasRefusedIsQuotedUntilTheLikeIsGranted) {
  KvPool prefill = join("prefill");
  (void)prefill.open({"r", 2}, "decode").value();
  (void)prefill.open({"r", 1}, "decode").value();
  EXPECT_EQ(told_of(prefill).error.code, Code::aborted);
  EXPECT_NE(prefill.status().error.find("turn 2 has been seen"), std::string::npos)
      << prefill.status().error;
  const std::uint64_t granted = prefill.open({"s", 1}, "decode").value();
  while (prefill.state(granted).value() != ParcelState::open) {
    ASSERT_TRUE(prefill.wait(kPoolPatience));
  }
  EXPECT_EQ(prefill.status().error, "");
}

// As its taker, since the higher turn is not complete: as its giver it is told nothing.
TEST_F(PoolStreams, WhoTookWhatItGaveItselfIsToldOfAHigherTurnThatIsOpen) {
  KvPool both = join("decode"), other = join("prefill");
  const std::uint64_t given = both.open({"r", 1}, "decode").value();
  const auto blocks = blocks_of(both, 1);
  ASSERT_TRUE(both.close(given, blocks, 1, "", {}).ok());
  const Parcel taken = take(both);
  const std::uint64_t higher = other.open({"r", 9}, "decode").value();
  std::vector<std::uint64_t> told;
  while ((told = both.superseded()).empty()) ASSERT_TRUE(both.wait(kPoolPatience));
  EXPECT_EQ(told, std::vector{taken.number});
  EXPECT_TRUE(both.deliveries().empty());
  ASSERT_TRUE(other.recall(higher).ok());
  EXPECT_EQ(told_of(other).outcome, Delivery::Outcome::recalled);
  ASSERT_TRUE(both.finish(taken.number, {}).ok());
  EXPECT_EQ(take(both).blocks, blocks) << "it waits again: its bytes are complete";
}

TEST_F(PoolStreams, WhoTookWhatItGaveItselfIsToldThatItIsSuperseded) {
  KvPool both = join("decode"), other = join("prefill");
  const std::uint64_t given = both.open({"r", 1}, "decode").value();
  ASSERT_TRUE(both.close(given, blocks_of(both, 1), 1, "", {}).ok());
  const Parcel taken = take(both);
  const auto blocks = blocks_of(other, 1);
  ASSERT_TRUE(
      other.hand_over({.id = "r", .turn = 9, .blocks = blocks, .tokens = 1}, "decode", {}).ok());
  std::vector<std::uint64_t> told;
  while ((told = both.superseded()).empty()) ASSERT_TRUE(both.wait(kPoolPatience));
  EXPECT_EQ(told, std::vector{taken.number});
  const Delivery delivery = told_of(both);
  EXPECT_EQ(delivery.number, given);
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::superseded);
  ASSERT_TRUE(both.finish(taken.number, {}).ok());
  EXPECT_EQ(take(both).turn, 10U);
}

}  // namespace
}  // namespace aqua
