// SPDX-License-Identifier: Apache-2.0
// Microbatches that are away in lent memory: it is taken back, its lender is killed, or it dies. No
// byte is wrong, and what is lost is told.
#include <future>
#include <set>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/runtime/lent_memory_fixture.hpp"
#include "tests/systems/kv_stream/act/turn_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;
using test::TurnEngine;
using test::TurnShape;
using Blocks = TurnEngine::Blocks;

constexpr std::size_t kLent = 16_MiB;
constexpr TurnShape kShape{.microbatches = 4, .blocks = 6, .block_bytes = 64_KiB};  // 1.5 MiB each

class MicrobatchSwapLent : public test::LentMemoryFixture {
 protected:
  MicrobatchSwapLent() : LentMemoryFixture(kLent) {}
  void TearDown() override { engine_.reset(); }
  void open_engine() {
    await_lent();
    engine_ = std::make_unique<TurnEngine>(*borrower_, kShape);
    EXPECT_EQ(swap().status().away_peer_bytes, swap().status().away_bytes);
    for (std::uint32_t m = 0; m < kShape.microbatches; ++m) {
      engine_->must_turn(m, {0, 1, 2, 3, 4, 5});
    }
  }
  // Rounds of turns of an engine that launches ahead; it waits now and then, as for the tokens.
  void decode(unsigned rounds) {
    for (unsigned i = 0; i < rounds * kShape.microbatches; ++i) {
      engine_->must_turn(i % kShape.microbatches, {i % kShape.blocks});
      if (i % 4 == 3) engine_->settle();
    }
  }
  // The memory dies that a microbatch is away in.
  void poison(std::uint32_t microbatch) {
    auto& impl = detail::Internals::impl(*borrower_);
    for (const auto& entry : impl.table().all()) {
      if (!entry->options().name.starts_with(concat("microbatch ", microbatch, ' '))) continue;
      const auto pin = entry->pin(Access::read, engine_->stream(), {}).value();
      device::poison_range(impl.device(), pin.data(), pin.bytes());
    }
  }
  [[nodiscard]] MicrobatchSwap& swap() { return engine_->swap(); }

  std::unique_ptr<TurnEngine> engine_;
};

TEST_F(MicrobatchSwapLent, AReclaimInTheMiddleOfTurnsChangesNoByte) {
  open_lender();
  open_borrower();
  open_engine();
  decode(2);
  auto reclaim = lender_->reclaim(kLent, milliseconds(20'000));
  ASSERT_TRUE(reclaim.ok());
  do decode(1);
  while (!reclaim->progress().done && !HasFatalFailure());
  EXPECT_TRUE(reclaim->wait().ok());
  EXPECT_EQ(swap().status().away_peer_bytes, 0U);
  decode(2);
  EXPECT_EQ(engine_->wrong(), 0U);
  // Lent again, microbatches move back up under the turns.
  ASSERT_TRUE(lender_->lend(kLent).ok());
  await([&] {
    decode(1);
    engine_->settle();
    return swap().status().away_peer_bytes > 0;
  });
  decode(2);
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(MicrobatchSwapLent, AKilledLenderTakesNoByteWithIt) {
  spawn_lender(AQUA_LAYER_POOL_LENDER);
  open_borrower();
  open_engine();
  decode(2);
  lender_process_->kill();
  do decode(1);
  while (swap().status().away_peer_bytes > 0 && !HasFatalFailure());
  decode(2);
  EXPECT_EQ(engine_->wrong(), 0U);
  await([&] {
    const auto done = swap().turn_done(swap().status().turns);
    EXPECT_TRUE(done.ok());
    return !done.ok() || *done;
  });
}

// Two turns on what was lost are both told so, also where the microbatch has ended meanwhile.
TEST_F(MicrobatchSwapLent, TheTurnsOfAMicrobatchThatWasClearedAreStillToldOfTheirLoss) {
  open_lender();
  open_borrower();
  open_engine();  // 2 and 3 are in the buffers, or come into them
  engine_->must_turn(0, {}, 0);
  engine_->settle();
  poison(2);
  // 2 comes back behind what the turn before wrote, so behind the gate: not lost when its turns
  // begin.
  std::promise<void> gate;
  engine_->launch_gate([open = gate.get_future().share()] { open.wait(); });
  engine_->must_turn(1, {}, 0);
  const auto first = engine_->turn(2, {}, 0);
  const auto second = engine_->turn(2, {}, 0);  // in the same buffer
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  engine_->must_clear(2);
  gate.set_value();
  EXPECT_GT(engine_->wrong(), 0U) << "both read what was lost";
  for (const std::uint64_t turn : {*first, *second}) {
    await([&] { return !swap().turn_done(turn).ok() || *swap().turn_done(turn); });
    ASSERT_FALSE(swap().turn_done(turn).ok()) << turn;
    EXPECT_EQ(swap().turn_done(turn).error().code, Code::data_loss);
  }
}

// The memory of microbatch 2 dies. Whatever a turn computed of wrong bytes, turn_done() says so.
TEST_F(MicrobatchSwapLent, LostBytesAreToldOfEachTurnAndWhoeverIsClearedGoesOn) {
  open_lender();
  open_borrower();
  open_engine();
  decode(1);
  engine_->settle();
  poison(2);
  std::set<std::uint32_t> lost;
  std::vector<std::uint64_t> read_wrong;  // turns
  std::optional<Reclaim> reclaim;         // what died goes
  std::uint64_t wrong = engine_->wrong();
  const auto turn = [&](std::uint32_t m) {
    const bool holds = engine_->held(m) > 0;
    auto done = engine_->turn(m, holds ? Blocks{m} : Blocks{0, 1, 2, 3, 4, 5});
    const std::uint64_t now = engine_->wrong();
    if (done.ok() && now > wrong) read_wrong.push_back(*done);
    wrong = now;
    if (done.ok()) return true;
    EXPECT_EQ(done.error().code, Code::data_loss) << done.error().message;
    EXPECT_NE(done.error().message.find("clear()"), std::string::npos) << done.error().message;
    EXPECT_EQ(engine_->turn(m, {}).error().code, Code::data_loss) << "until it is cleared";
    lost.insert(m);
    if (!reclaim) reclaim = lender_->reclaim(kLent, milliseconds(20'000)).value();
    await([&] { return swap().clear(m).ok(); });
    engine_->forget(m);
    return false;
  };
  await([&] {
    bool all = true;
    for (std::uint32_t m = 0; m < kShape.microbatches; ++m) all = turn(m) && all;
    return all && reclaim && reclaim->progress().done;
  });
  EXPECT_TRUE(lost.contains(2));
  for (const std::uint64_t number : read_wrong) {
    await([&] { return !swap().turn_done(number).ok(); });
    EXPECT_EQ(swap().turn_done(number).error().code, Code::data_loss) << number;
  }
  decode(3);
  EXPECT_EQ(engine_->wrong(), wrong);
  await([&] {
    const auto done = swap().turn_done(swap().status().turns);
    EXPECT_TRUE(done.ok());
    return !done.ok() || *done;
  });
}

}  // namespace
}  // namespace aqua
