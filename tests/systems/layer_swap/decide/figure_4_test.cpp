// SPDX-License-Identifier: Apache-2.0
// Figure 4 of Pie and the text of 3.3 around it: nine layers, seven frames, a swap as long as two
// layers compute. Layers are numbered from 1 here, as there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"

namespace aqua::layer_swap::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Figure4 {
 public:
  // Plays a token; each swap ends two layers after it began. Answers what began at which layer.
  std::vector<std::string> token() {
    std::vector<std::string> began;
    for (LayerIndex layer = 0; layer < 9; ++layer, ++now_) {
      for (const MoveKind kind : {MoveKind::in, MoveKind::out}) {
        if (schedule_->under_way(kind) > 0 && ends_[static_cast<std::size_t>(kind)] <= now_) {
          EXPECT_TRUE(schedule_->completed(kind).ok());
        }
      }
      for (const Move& move : *schedule_->reach(layer)) {
        ends_[static_cast<std::size_t>(move.kind)] = now_ + 2;
        if (move.kind == MoveKind::out) left_[move.layer] = now_;
        if (move.kind == MoveKind::in && left_.contains(move.layer)) {
          gone_for.push_back(now_ + 2 - left_[move.layer]);
        }
        frames[move.layer] = move.frame;
        began.push_back(concat(layer + 1, ": ", move.layer + 1, " ", to_string(move.kind)));
      }
      EXPECT_EQ(schedule_->state(layer), LayerState::home)
          << "layer " << layer + 1 << " had to wait";
      EXPECT_TRUE(schedule_->end(layer)->empty());
    }
    return began;
  }
  std::vector<int> gone_for;  // in layers, from the start of the way out to the end of the way in
  std::map<LayerIndex, FrameIndex> frames;

 private:
  std::unique_ptr<LayerSchedule> schedule_ =
      *make_layer_schedule("fifo", {.layers = 9, .frames = 7});
  int now_ = 0;
  std::array<int, 2> ends_{};
  std::map<LayerIndex, int> left_;
};

TEST(LayerSchedule, FifoReplaysFigure4SwapBySwap) {
  Figure4 figure;
  EXPECT_THAT(figure.token(), ElementsAre("2: 1 out", "4: 8 in", "4: 3 out", "6: 9 in", "6: 5 out",
                                          "8: 1 in", "8: 7 out"));
  EXPECT_EQ(figure.frames[7], 0U) << "layer 8 comes into what was layer 1's";
  EXPECT_THAT(figure.token(),
              ElementsAre("1: 3 in", "1: 9 out", "3: 5 in", "3: 2 out", "5: 7 in", "5: 4 out",
                          "7: 9 in", "7: 6 out", "9: 2 in", "9: 8 out"));
  EXPECT_THAT(figure.token(), ElementsAre("2: 4 in", "2: 1 out", "4: 6 in", "4: 3 out", "6: 8 in",
                                          "6: 5 out", "8: 1 in", "8: 7 out"));
  EXPECT_THAT(figure.token(),
              ElementsAre("1: 3 in", "1: 9 out", "3: 5 in", "3: 2 out", "5: 7 in", "5: 4 out",
                          "7: 9 in", "7: 6 out", "9: 2 in", "9: 8 out"));
  // "A layer spends a total of eight layer computation times in the FIFO queue."
  EXPECT_THAT(figure.gone_for, ::testing::Each(8));
  EXPECT_GE(figure.gone_for.size(), 9U);
}

TEST(LayerSchedule, FifoSwapsNothingWhenEveryLayerHasAFrame) {
  auto schedule = *make_layer_schedule("fifo", {.layers = 5, .frames = 5});
  for (LayerIndex i = 0; i < 20; ++i) {
    EXPECT_THAT(*schedule->reach(i % 5), IsEmpty());
    EXPECT_THAT(*schedule->end(i % 5), IsEmpty());
  }
}

// What the protocol leaves open: a layer that is reached while it is away, and asked for by nobody.
TEST(LayerSchedule, FifoAsksAgainForALayerThatWasReachedWhileAway) {
  auto schedule = *make_layer_schedule("fifo", {.layers = 4, .frames = 3});
  for (LayerIndex layer = 0; layer < 3; ++layer) {
    ASSERT_TRUE(schedule->reach(layer).ok());
    ASSERT_TRUE(schedule->end(layer).ok());
  }
  EXPECT_EQ(schedule->state(0), LayerState::leaving) << "it went when layer 1 was reached";
  EXPECT_THAT(*schedule->reach(3), IsEmpty()) << "no frame is free";
  EXPECT_EQ(schedule->end(3).error().code, Code::failed_precondition);
  ASSERT_TRUE(schedule->completed(MoveKind::out).ok());
  EXPECT_THAT(*schedule->reach(3),
              ElementsAre(Move{MoveKind::in, 3, 0, true}, Move{MoveKind::out, 2, 2, true}));
  EXPECT_EQ(schedule->end(3).error().code, Code::failed_precondition) << "it is coming";
  ASSERT_TRUE(schedule->completed(MoveKind::in).ok());
  EXPECT_TRUE(schedule->reach(3).ok());
  EXPECT_TRUE(schedule->end(3).ok());
}

}  // namespace
}  // namespace aqua::layer_swap::test
