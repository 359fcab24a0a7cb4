// SPDX-License-Identifier: Apache-2.0
// What every layer schedule keeps: each layer computes on its own bytes, however late the copies
// run, and a wrong call changes nothing.
#include "systems/layer_swap/decide/layer_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "tests/base/code_of.hpp"

namespace aqua::layer_swap::test {
namespace {

// Copies and kernels as streams run them: each waits for some that were launched before it, and
// runs at any time after those. A layer's bytes are a number that its kernel raises by one.
class Streams {
 public:
  Streams(std::uint32_t layers, std::uint32_t frames)
      : last_of_frame_(frames),
        last_of_layer_(layers),
        away_(layers),
        runs_(layers),
        frames_(frames) {}

  void holds(LayerIndex layer, FrameIndex frame) { frames_[frame] = {layer, 0}; }
  void launch(const Move& move) {
    auto& last = last_of_kind_[static_cast<std::size_t>(move.kind)];
    auto& of_frame = last_of_frame_[move.frame];
    auto& of_layer = last_of_layer_[move.layer];
    last = of_frame = of_layer = add({move, false, {last, of_frame, of_layer, last_kernel_}});
  }
  void launch_kernel(LayerIndex layer, FrameIndex frame) {
    last_kernel_ = add({{MoveKind::in, layer, frame}, true, {last_kernel_, last_of_frame_[frame]}});
  }
  // Runs everything, in an order that `random` chooses.
  void run(std::mt19937& random) {
    std::vector<bool> done(operations_.size());
    for (std::size_t ran = 0; ran < operations_.size(); ++ran) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < operations_.size(); ++i) {
        bool waits = done[i];
        for (const std::size_t before : operations_[i].behind)
          waits |= before != 0 && !done[before - 1];
        if (!waits) ready.push_back(i);
      }
      const std::size_t i = ready[random() % ready.size()];
      done[i] = true;
      run(operations_[i]);
    }
  }

 private:
  struct Operation {
    Move move;
    bool kernel = false;
    std::vector<std::size_t> behind;  // numbers of operations, from 1; 0 is nothing
  };
  struct Bytes {
    LayerIndex layer = 0;
    int value = -1;
  };
  std::size_t add(Operation operation) {
    operations_.push_back(std::move(operation));
    return operations_.size();
  }
  void run(const Operation& operation) {
    const auto [kind, layer, frame, whole] = operation.move;
    Bytes& bytes = frames_[frame];
    if (!operation.kernel && kind == MoveKind::in) {
      bytes = {layer, away_[layer]};
      return;
    }
    ASSERT_EQ(bytes.layer, layer) << "frame " << frame;
    if (operation.kernel) {
      ASSERT_EQ(bytes.value, runs_[layer]++) << "layer " << layer << " lost a write";
      bytes.value += 1;
    } else {
      away_[layer] = bytes.value;
    }
  }

  std::vector<Operation> operations_;
  std::size_t last_of_kind_[2] = {0, 0};
  std::vector<std::size_t> last_of_frame_, last_of_layer_;
  std::size_t last_kernel_ = 0;
  std::vector<int> away_, runs_;
  std::vector<Bytes> frames_;
};

struct Drawn {
  std::string name;
  LayerScheduleOptions options;
};

Drawn draw(std::mt19937& random) {
  Drawn drawn;
  drawn.name = random() % 2 == 0 ? "fifo" : "fixed";
  drawn.options.layers = static_cast<std::uint32_t>(3 + random() % 12);
  drawn.options.frames = static_cast<std::uint32_t>(3 + random() % (drawn.options.layers - 2));
  const auto most = std::min<std::uint32_t>(3, drawn.options.layers - drawn.options.frames);
  drawn.options.ring = static_cast<std::uint32_t>(random() % (most + 1));
  return drawn;
}

TEST(LayerSchedule, EveryKernelFindsItsLayersBytesHoweverLateTheCopiesRun) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto [name, options] = draw(random);
    SCOPED_TRACE(concat(name, " ", options.layers, " layers ", options.frames, " frames ring ",
                        options.ring));
    auto schedule = *make_layer_schedule(name, options);
    Streams streams(options.layers, options.frames);
    for (LayerIndex layer = 0; layer < options.layers; ++layer) {
      if (const auto frame = schedule->frame_of(layer)) streams.holds(layer, *frame);
    }
    const auto complete_some = [&](bool one) {
      for (const MoveKind kind : {MoveKind::in, MoveKind::out}) {
        while (schedule->under_way(kind) > 0 && (one || random() % 2 == 0)) {
          ASSERT_TRUE(schedule->completed(kind).ok());
          one = false;
        }
      }
    };
    for (int step = 0; step < 4; ++step) {
      for (LayerIndex layer = 0; layer < options.layers; ++layer) {
        for (bool first = true; first || schedule->state(layer) != LayerState::home;
             first = false) {
          complete_some(!first);
          for (const Move& move : *schedule->reach(layer)) streams.launch(move);
        }
        streams.launch_kernel(layer, *schedule->frame_of(layer));
        for (const Move& move : *schedule->end(layer)) streams.launch(move);
      }
    }
    streams.run(random);
    if (HasFatalFailure()) return;
  }
}

TEST(LayerSchedule, FixedGivesALayerTheSameFrameAndStepsTheSameMovesForever) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const auto options = draw(random).options;
    auto schedule = *make_layer_schedule("fixed", options);
    std::vector<std::set<FrameIndex>> frames(options.layers);
    std::vector<Move> first, moves;
    for (int step = 0; step < 4; ++step, moves.clear()) {
      for (LayerIndex layer = 0; layer < options.layers; ++layer) {
        EXPECT_TRUE(schedule->reach(layer)->empty()) << "nothing depends on what is complete";
        frames[layer].insert(*schedule->frame_of(layer));
        for (const Move& move : *schedule->end(layer)) {
          EXPECT_TRUE(schedule->completed(move.kind).ok());
          EXPECT_EQ(move.whole, move.kind == MoveKind::in) << "only written blocks go back";
          moves.push_back(move);
        }
      }
      if (step == 0) first = moves;
      EXPECT_EQ(moves, first);
    }
    for (const auto& seen : frames) EXPECT_EQ(seen.size(), 1U);
    EXPECT_EQ(first.empty(), options.frames == options.layers);
  }
}

TEST(LayerSchedule, BadOptionsAreRefusedByName) {
  const auto refused = [](const char* name, LayerScheduleOptions options) {
    const auto made = make_layer_schedule(name, options);
    if (made.ok()) return std::string("made");
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    return made.error().message;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused("lru", {9, 7}), HasSubstr("no schedule \"lru\""));
  EXPECT_THAT(refused("fixed", {9, 2}), HasSubstr("2 frames of 9 layers"));
  EXPECT_THAT(refused("fifo", {9, 10}), HasSubstr("10 frames of 9 layers"));
  EXPECT_THAT(refused("fifo", {0, 0}), HasSubstr("0 frames of 0 layers"));
  EXPECT_THAT(refused("fixed", {257, 200}), HasSubstr("257 layers"));
  EXPECT_THAT(refused("fixed", {9, 5, 4}), HasSubstr("a ring of 4 frames"));
  EXPECT_THAT(refused("fixed", {9, 8, 2}), HasSubstr("1 layers without one"));
}

TEST(LayerSchedule, CallsOutOfOrderAreRefusedAndChangeNothing) {
  for (const char* name : {"fifo", "fixed"}) {
    auto schedule = *make_layer_schedule(name, {.layers = 6, .frames = 4});
    EXPECT_EQ(code_of(schedule->end(0)), "failed_precondition") << "before it was reached";
    EXPECT_EQ(code_of(schedule->reach(1)), "invalid_argument");
    EXPECT_EQ(code_of(schedule->completed(MoveKind::out)), "failed_precondition");
    ASSERT_TRUE(schedule->reach(0).ok());
    EXPECT_EQ(code_of(schedule->reach(1)), "invalid_argument") << "while 0 computes";
    EXPECT_EQ(code_of(schedule->end(1)), "failed_precondition");
    EXPECT_TRUE(schedule->end(0).ok());
    EXPECT_EQ(code_of(schedule->end(0)), "failed_precondition") << "twice";
    EXPECT_TRUE(schedule->reach(1).ok());
    EXPECT_EQ(schedule->state(600), LayerState::away);
    EXPECT_FALSE(schedule->frame_of(600));
  }
}

}  // namespace
}  // namespace aqua::layer_swap::test
