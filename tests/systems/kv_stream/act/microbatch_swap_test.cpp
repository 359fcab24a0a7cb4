// SPDX-License-Identifier: Apache-2.0
// MicrobatchSwap: every byte that a turn's kernels read is the one that was written last, copies
// are those of a naive second, and what is refused changes nothing.
#include <future>
#include <list>
#include <numeric>
#include <optional>
#include <random>

#include "tests/systems/kv_stream/act/turn_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::TurnEngine;
using test::TurnShape;
using Blocks = TurnEngine::Blocks;

Blocks all_of(const TurnShape& shape) {
  Blocks blocks(shape.blocks);
  std::iota(blocks.begin(), blocks.end(), 0U);
  return blocks;
}

class MicrobatchSwaps : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 64_MiB,
                                 .emulated = {.total_bytes = 64_MiB, .hostile = GetParam()}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
  }
  // Turns in order, each of which writes one block.
  static void decode(TurnEngine& engine, const TurnShape& shape, unsigned rounds) {
    for (unsigned i = 0; i < rounds * shape.microbatches; ++i) {
      engine.must_turn(i % shape.microbatches, {i % shape.blocks});
    }
  }
  static void fill(TurnEngine& engine, const TurnShape& shape) {
    for (std::uint32_t m = 0; m < shape.microbatches; ++m) engine.must_turn(m, all_of(shape));
  }
  static void await_all(TurnEngine& engine) {
    const std::uint64_t turns = engine.swap().status().turns;
    for (;;) {
      const auto done = engine.swap().turn_done(turns);
      ASSERT_TRUE(done.ok()) << done.error().message;
      if (*done) return;
      std::this_thread::yield();
    }
  }

  std::optional<Runtime> runtime_;
};

TEST_P(MicrobatchSwaps, EveryByteIsTheOneWrittenLast) {
  for (const std::uint32_t microbatches : {2U, 3U, 4U, 7U}) {
    const TurnShape shape{.microbatches = microbatches};
    TurnEngine engine(*runtime_, shape);
    fill(engine, shape);
    decode(engine, shape, 5);
    EXPECT_EQ(engine.wrong(), 0U) << microbatches;
    await_all(engine);
  }
}

// The device's buffers once more: a list, the one that was used last in front.
class NaiveBuffers {
 public:
  explicit NaiveBuffers(std::uint32_t microbatches) : microbatches_(microbatches) {}

  // Blocks that come in for this turn, and for the next one.
  std::uint64_t turn(std::uint32_t microbatch, const std::vector<std::size_t>& held,
                     std::size_t held_after, std::uint32_t next) {
    std::uint64_t blocks = use(microbatch, held[microbatch]);
    std::vector<std::size_t> then = held;
    if (size() == 1) then[microbatch] = held_after;
    for (std::uint32_t i = 1; next == MicrobatchSwap::kInOrder && i < microbatches_; ++i) {
      if (then[(microbatch + i) % microbatches_] > 0) next = (microbatch + i) % microbatches_;
    }
    if (next == MicrobatchSwap::kInOrder || then[next] == 0) return blocks;
    blocks += use(next, then[next]);
    if (size() == 2) use(microbatch, 0);  // it is in use
    return blocks;
  }
  void clear(std::uint32_t microbatch) { there_.remove(microbatch); }

 private:
  [[nodiscard]] std::size_t size() const { return microbatches_ > 2 ? 2 : 1; }
  std::uint64_t use(std::uint32_t microbatch, std::size_t held) {
    const bool stays = std::find(there_.begin(), there_.end(), microbatch) != there_.end();
    there_.remove(microbatch);
    if (there_.size() == size()) there_.pop_back();
    there_.push_front(microbatch);
    return stays ? 0 : held;
  }
  const std::uint32_t microbatches_;
  std::list<std::uint32_t> there_{};
};

TEST_P(MicrobatchSwaps, RandomTurnsCopyWhatTheNaiveSecondDoesAndNoByteIsWrong) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const TurnShape shape{.microbatches = 2 + seed % 4, .block_bytes = 16_KiB};
    TurnEngine engine(*runtime_, shape);
    NaiveBuffers naive(shape.microbatches);
    std::uint64_t fetched = 0, written = 0;
    std::uint32_t at = 0;
    for (int i = 0; i < 150; ++i) {
      // Mostly in order; now and then another one, which was foreseen or was not.
      std::uint32_t next = MicrobatchSwap::kInOrder;
      if (below(4) == 0) next = below(shape.microbatches);
      Blocks writes;
      for (std::uint32_t b = 0; b < shape.blocks; ++b) {
        if (below(3) == 0) writes.push_back(b);
      }
      std::vector<std::size_t> held;
      for (std::uint32_t m = 0; m < shape.microbatches; ++m) held.push_back(engine.held(m));
      engine.must_turn(at, writes, next);
      if (HasFatalFailure()) return;
      fetched += naive.turn(at, held, engine.held(at), next);
      written += writes.size();
      const MicrobatchSwapStatus status = engine.swap().status();
      ASSERT_EQ(status.fetched_bytes, fetched * engine.block_bytes()) << i;
      ASSERT_EQ(status.written_bytes, written * engine.block_bytes()) << i;
      if (below(5) == 0) engine.must_drop(below(shape.microbatches), {below(shape.blocks)});
      if (below(9) == 0) {  // it has ended before the others
        const std::uint32_t ended = below(shape.microbatches);
        engine.must_clear(ended);
        naive.clear(ended);
      }
      at = below(6) == 0 ? below(shape.microbatches) : (at + 1) % shape.microbatches;
    }
    EXPECT_EQ(engine.wrong(), 0U);
    await_all(engine);
  }
}

TEST_P(MicrobatchSwaps, TurnsInOrderAreForeseenButForEachOnesFirst) {
  const TurnShape shape{.microbatches = 4};
  TurnEngine engine(*runtime_, shape);
  fill(engine, shape);
  EXPECT_EQ(engine.swap().status().unforeseen, 4U);
  decode(engine, shape, 3);
  EXPECT_EQ(engine.swap().status().foreseen, 12U);
  EXPECT_EQ(engine.swap().status().unforeseen, 4U);
  engine.must_turn(2, {});
  EXPECT_EQ(engine.swap().status().unforeseen, 5U) << "the turn was that of 0";
  engine.must_turn(3, {}, 1);
  engine.must_turn(1, {});
  EXPECT_EQ(engine.swap().status().foreseen, 14U) << "3 in order, and 1 as it was named";
  EXPECT_EQ(engine.wrong(), 0U);
}

// The next turn is on a stream of its own, which is not behind the kernels of the turn before.
TEST_P(MicrobatchSwaps, TheNextComesInWhileOneIsComputed) {
  const TurnShape shape{.microbatches = 4};
  TurnEngine engine(*runtime_, shape);
  fill(engine, shape);
  engine.settle();
  const Stream other = *emulated::create_stream(*runtime_);
  std::promise<void> gate;
  engine.launch_gate([open = gate.get_future().share()] { open.wait(); });
  engine.must_turn(0, {0});
  const auto turn = engine.turn_on(other, 1, {0});
  ASSERT_TRUE(turn.ok()) << turn.error().message;
  EXPECT_TRUE(emulated::synchronize(*runtime_, other).ok()) << "which the kernels of 0 do not hold";
  EXPECT_FALSE(*engine.swap().turn_done(*turn)) << "it was written, and goes out behind 0";
  gate.set_value();
  EXPECT_EQ(engine.wrong(), 0U);
  await_all(engine);
  EXPECT_TRUE(emulated::destroy_stream(*runtime_, other).ok());
}

TEST_P(MicrobatchSwaps, NoCallOfATurnWaitsForTheDevice) {
  for (const std::uint32_t microbatches : {2U, 4U}) {
    const TurnShape shape{.microbatches = microbatches};
    TurnEngine engine(*runtime_, shape);
    fill(engine, shape);
    std::promise<void> gate;
    engine.launch_gate([open = gate.get_future().share()] { open.wait(); });
    const std::uint64_t before = engine.swap().status().turns;
    decode(engine, shape, 3);
    engine.must_clear(1);
    EXPECT_FALSE(*engine.swap().turn_done(before + 1));
    gate.set_value();
    EXPECT_EQ(engine.wrong(), 0U);
    await_all(engine);
  }
}

TEST_P(MicrobatchSwaps, WhatIsRefusedChangesNothing) {
  const TurnShape shape{.microbatches = 3};
  TurnEngine engine(*runtime_, shape);
  fill(engine, shape);
  MicrobatchSwap& swap = engine.swap();
  const auto code = [](const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::unimplemented : result.error().code;
  };
  EXPECT_EQ(code(swap.begin_turn(engine.stream(), 3)), Code::invalid_argument);
  EXPECT_EQ(code(swap.begin_turn(engine.stream(), 0, 3)), Code::invalid_argument);
  EXPECT_EQ(code(swap.begin_turn(Stream{0xdead}, 0)), Code::invalid_argument);
  EXPECT_EQ(code(swap.end_turn({})), Code::failed_precondition);
  EXPECT_EQ(code(swap.turn_done(0)), Code::invalid_argument);
  EXPECT_EQ(code(swap.turn_done(4)), Code::invalid_argument);
  EXPECT_EQ(code(swap.drop(3, Blocks{})), Code::invalid_argument);
  EXPECT_EQ(code(swap.drop(0, Blocks{6})), Code::invalid_argument);
  EXPECT_EQ(code(swap.clear(3)), Code::invalid_argument);
  ASSERT_TRUE(swap.begin_turn(engine.stream(), 0).ok());
  EXPECT_EQ(code(swap.begin_turn(engine.stream(), 1)), Code::failed_precondition);
  EXPECT_EQ(code(swap.clear(0)), Code::failed_precondition);
  EXPECT_EQ(code(swap.drop(0, Blocks{1})), Code::failed_precondition);
  EXPECT_EQ(code(swap.end_turn(Blocks{6})), Code::invalid_argument);
  EXPECT_EQ(code(swap.end_turn(Blocks{1, 1})), Code::invalid_argument);
  EXPECT_TRUE(swap.end_turn({}).ok()) << "the turn was still there";
  decode(engine, shape, 2);
  EXPECT_EQ(engine.wrong(), 0U);
}

TEST_P(MicrobatchSwaps, OptionsThatCannotBeAreNamed) {
  const TurnShape shape{.microbatches = 3};
  TurnEngine engine(*runtime_, shape);
  const std::vector<Layout> both = engine.layouts();
  const auto refused = [&](const MicrobatchSwapOptions& options, Code code, const char* says) {
    const auto made = MicrobatchSwap::create(*runtime_, options);
    ASSERT_FALSE(made.ok()) << says;
    EXPECT_EQ(made.error().code, code) << made.error().message;
    EXPECT_NE(made.error().message.find(says), std::string::npos) << made.error().message;
  };
  refused({.microbatches = 1, .buffers = both}, Code::invalid_argument, "2 to 1024");
  refused({.microbatches = 1025, .buffers = both}, Code::invalid_argument, "2 to 1024");
  refused({.microbatches = 2, .buffers = both}, Code::invalid_argument, "1 for 2 microbatches");
  refused({.microbatches = 3, .buffers = {both[0]}}, Code::invalid_argument, "2 for 3");
  refused({.microbatches = 3, .buffers = {both[0], both[0]}}, Code::invalid_argument,
          "bytes in common");
  LayoutSpec fewer = both[1].spec();
  fewer.block_count -= 1;
  refused({.microbatches = 3, .buffers = {both[0], Layout::make(fewer).value()}},
          Code::invalid_argument, "differ");
  // Each microbatch has 1.5 MiB away: host memory has no exits for so many.
  refused({.microbatches = 1000, .buffers = both}, Code::resource_exhausted, "");
}

INSTANTIATE_TEST_SUITE_P(Devices, MicrobatchSwaps, ::testing::Bool(), [](const auto& hostile) {
  return hostile.param ? "hostile" : "friendly";
});

}  // namespace
}  // namespace aqua
