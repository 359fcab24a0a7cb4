// SPDX-License-Identifier: Apache-2.0
// A LayerPool whose layers are away in lent memory: it is taken back, its lender is killed, or it
// dies. No byte is wrong, and where bytes are gone nothing goes on unnoticed.
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/runtime/lent_memory_fixture.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;
using test::SwapEngine;

constexpr std::size_t kLent = 32_MiB;
const LayerPoolOptions kLentOptions{.layers = 6,
                                    .planes_per_layer = 1,
                                    .block_bytes = 512_KiB,
                                    .device_bytes = 24_MiB,
                                    .frames = 4};

class LayerPoolLent : public test::LentMemoryFixture {
 protected:
  explicit LayerPoolLent(std::size_t lent = kLent) : LentMemoryFixture(lent) {}
  void TearDown() override { engine_.reset(); }
  void open_engine(const char* schedule) {
    await_lent();
    LayerPoolOptions options = kLentOptions;
    options.schedule = schedule;
    engine_ = std::make_unique<SwapEngine>(*borrower_, options);
    EXPECT_EQ(pool().status().away_peer_bytes, pool().status().away_bytes);
    engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7});
  }
  // Steps of an engine that launches ahead; it waits now and then, as for the tokens.
  void decode(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      engine_->must_step({i % 8, (i + 3) % 8});
      if (i % 3 == 2) engine_->settle();
    }
  }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }

  std::unique_ptr<SwapEngine> engine_;
};

// `fifo` has all six layers away.
class LayerPoolLentBy : public LayerPoolLent, public ::testing::WithParamInterface<const char*> {
 protected:
  LayerPoolLentBy() : LayerPoolLent(40_MiB) {}
};
INSTANTIATE_TEST_SUITE_P(Schedules, LayerPoolLentBy, test::schedules, test::schedule_name);

TEST_P(LayerPoolLentBy, AReclaimInTheMiddleOfStepsChangesNoByte) {
  open_lender();
  open_borrower();
  open_engine(GetParam());
  decode(4);
  auto reclaim = lender_->reclaim(lent_, milliseconds(20'000));
  ASSERT_TRUE(reclaim.ok());
  do decode(3);
  while (!reclaim->progress().done && !HasFatalFailure());
  EXPECT_TRUE(reclaim->wait().ok());
  EXPECT_EQ(pool().status().away_peer_bytes, 0U);
  ASSERT_TRUE(pool().resize(3).ok());
  decode(4);
  EXPECT_EQ(engine_->wrong(), 0U);
  // Lent again, the layers move back up under the steps.
  ASSERT_TRUE(lender_->lend(lent_).ok());
  await([&] {
    decode(1);
    engine_->settle();
    return pool().status().away_peer_bytes > 0;
  });
  decode(4);
  EXPECT_EQ(engine_->wrong(), 0U);
}

// Somebody reads what is away, and does not let go of it while it is to move.
TEST_P(LayerPoolLentBy, ACopyThatCannotBeginBeginsWithTheNextCall) {
  open_lender();
  open_borrower();
  open_engine(GetParam());
  decode(2);
  engine_->settle();
  std::vector<Pin> pins;
  for (const auto& entry : detail::Internals::impl(*borrower_).table().all())
    pins.push_back(entry->pin(Access::read, engine_->stream(), {}).value());
  auto reclaim = lender_->reclaim(lent_, milliseconds(60'000));
  ASSERT_TRUE(reclaim.ok());
  unsigned refused = 0;
  engine_->goes_on_after = [&](std::uint32_t layer, const Error& why) {
    EXPECT_EQ(why.code, Code::unavailable) << why.message;
    const bool ended = GetParam() == std::string("fixed");  // `fifo` copies before a layer begins
    const auto early = ended && layer + 1 < kLentOptions.layers
                           ? pool().begin_layer(layer + 1).error()
                           : pool().end_step().error();
    EXPECT_EQ(early.code, Code::failed_precondition);
    EXPECT_EQ(early.message.find("end_layer() again") != std::string::npos, ended) << early.message;
    pins.clear();
    return ++refused == 1;
  };
  while (refused == 0 && !HasFatalFailure()) decode(3);
  EXPECT_TRUE(reclaim->wait().ok());
  decode(4);
  EXPECT_EQ(refused, 1U);
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_P(LayerPoolLentBy, AKilledLenderTakesNoByteWithIt) {
  spawn_lender(AQUA_LAYER_POOL_LENDER);
  open_borrower();
  open_engine(GetParam());
  decode(4);
  lender_process_->kill();
  do decode(3);
  while (pool().status().away_peer_bytes > 0 && !HasFatalFailure());
  ASSERT_TRUE(pool().resize(5).ok());
  decode(3);
  EXPECT_EQ(engine_->wrong(), 0U);
  await([&] {
    const auto done = pool().step_done(pool().status().steps);
    EXPECT_TRUE(done.ok());
    return !done.ok() || *done;
  });
}

// Blocks are said to be used, and none is read: nothing but what is reckoned can ask for frames.
TEST_F(LayerPoolLent, WhatIsEvacuatedHasItsFramesBeforeAStepStalls) {
  open_lender();
  borrower_ = open({.device = "emu:1",
                    .name = "borrower",
                    .host_bytes = 64 << 20,
                    .max_peer_bytes = lent_,
                    .emulated = {.total_bytes = 64 << 20,
                                 .link_bytes_per_second = 50'000'000,
                                 .peer_bytes_per_second = 100'000'000'000}});
  await_lent();
  LayerPoolOptions options = kLentOptions;
  options.frames = 6;
  options.goal = "capacity";
  engine_ = std::make_unique<SwapEngine>(*borrower_, options);
  engine_->set_compute(milliseconds(20));
  auto blocks = *layer_swap::BlockPool::create(6, pool().usable_blocks());
  const auto serve = [&] {
    EXPECT_TRUE(engine_->step({}, {}, {.blocks_used = 8, .blocks_wanted = 16}).ok());
    engine_->settle();
    EXPECT_TRUE(pool().adapt(blocks, engine_->stream()).ok());
  };
  for (int i = 0; i < 20 && pool().status().frames > 3; ++i) serve();
  ASSERT_EQ(pool().status().frames, 3U);
  ASSERT_EQ(pool().status().away_peer_bytes, lent_) << "the rest has no room there";
  // It knows what a step takes then. On a busy machine a step may stall, and a frame come back.
  for (int i = 0; i < 20; ++i) serve();

  auto reclaim = lender_->reclaim(lent_, milliseconds(20'000));
  ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
  ASSERT_EQ(pool().status().away_peer_bytes, 0U);
  EXPECT_EQ(pool().propose(), 6U) << "a block takes 10 ms, a layer 20";
  EXPECT_EQ(pool().status().reason, "link") << "no step has run since";
}

TEST_P(LayerPoolLentBy, LostBytesAreNamedAndNothingGoesOnUntilTheyAreDiscarded) {
  open_lender();
  open_borrower();
  open_engine(GetParam());
  decode(2);
  engine_->settle();
  auto& impl = detail::Internals::impl(*borrower_);
  for (const auto& entry : impl.table().all()) {
    const auto pin = entry->pin(Access::read, engine_->stream(), {}).value();
    device::poison_range(impl.device(), pin.data(), pin.bytes());
  }
  const auto all = engine_->stamped();
  Result<std::uint64_t> step = engine_->step(all, {0});
  if (step.ok()) step = engine_->step(all, {1});
  engine_->settle();
  // A launched step may have read what was lost: it is never said to be done.
  await([&] { return !pool().step_done(pool().status().steps).ok(); });
  const auto done = pool().step_done(pool().status().steps);
  EXPECT_EQ(done.error().code, Code::data_loss) << done.error().message;
  EXPECT_NE(done.error().message.find("discard()"), std::string::npos) << done.error().message;
  EXPECT_EQ(engine_->step({}, {}).error().code, Code::data_loss);
  EXPECT_EQ(pool().resize(3).error().code, Code::data_loss);

  auto reclaim = lender_->reclaim(lent_, milliseconds(20'000));  // and what died goes
  ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
  ASSERT_TRUE(pool().discard().ok());
  engine_->forget_all();
  const std::uint64_t before = engine_->wrong();
  engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7});
  decode(3);
  EXPECT_EQ(engine_->wrong(), before);
}

}  // namespace
}  // namespace aqua
