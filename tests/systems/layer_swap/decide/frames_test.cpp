// SPDX-License-Identifier: Apache-2.0
// How few frames suffice without a stall: `fixed` against `fifo`, and against the least F that a
// link alone allows, (n - F + 2) * t_swap <= n * t_compute. Times are in those of a layer.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "systems/layer_swap/decide/ring_plan.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"

namespace aqua::layer_swap::test {
namespace {

constexpr double kRounding = 1e-9;

// Whether no step stalls once the first few are over.
bool flows(const char* name, const LayerScheduleOptions& options, double swap, int steps) {
  StepTimer timer(*make_layer_schedule(name, options));
  for (int step = 0; step < steps; ++step) {
    const auto timing = timer.step({.compute = 1, .fetch = swap, .whole_out = swap});
    if (step >= 4 && timing->stalled > 0) return false;
  }
  return true;
}

std::uint32_t least_by_link(std::uint32_t layers, double swap) {
  std::uint32_t frames = kLeastFrames;
  while (frames < layers && (layers - frames + 2) * swap > layers + kRounding) ++frames;
  return frames;
}

// The least frames with which `fixed` does not stall, by its plans.
std::uint32_t least_by_plan(std::uint32_t layers, double swap) {
  static std::map<std::pair<std::uint32_t, std::uint32_t>, double> sustains;
  for (std::uint32_t frames = kLeastFrames;; ++frames) {
    const auto [at, fresh] = sustains.try_emplace({layers, frames}, 0);
    if (fresh) at->second = best_ring(layers, frames).sustains;
    if (at->second >= swap - kRounding) return frames;
  }
}

TEST(LayerSchedule, FixedNeedsAtMostOneFrameAboveTheLinksBound) {
  // With frames that never change, a layer that follows two turns after the one before it in its
  // frame has one turn to come in. Just above t_swap = t_compute too many would, for these.
  const std::set<std::pair<std::uint32_t, int>> two_above = {{8, 105},  {8, 110},  {11, 105},
                                                             {11, 110}, {13, 130}, {14, 105},
                                                             {15, 115}, {17, 105}, {20, 105}};
  for (std::uint32_t layers = 6; layers <= 64; ++layers) {
    for (int percent = 60; percent <= 400; percent += 5) {
      const std::uint32_t more = two_above.contains({layers, percent}) ? 2 : 1;
      EXPECT_LE(least_by_plan(layers, percent / 100.0),
                least_by_link(layers, percent / 100.0) + more)
          << layers << " layers, " << percent << " %";
    }
  }
}

TEST(LayerSchedule, FixedStallsJustWhenItsPlanSaysSo) {
  for (std::uint32_t layers = 6; layers <= 64; ++layers) {
    for (int tenths = 6; tenths <= 40; tenths += 2) {
      const double swap = tenths / 10.0;
      const std::uint32_t frames = least_by_plan(layers, swap);
      EXPECT_TRUE(flows("fixed", {layers, frames}, swap, 7)) << layers << ", " << swap;
      for (std::uint32_t ring = 1; ring <= 3 && frames > kLeastFrames; ++ring) {
        if (ring > layers - frames + 1) break;
        EXPECT_FALSE(flows("fixed", {layers, frames - 1, ring}, swap, 100))
            << layers << ", " << swap;
      }
    }
  }
}

TEST(LayerSchedule, FixedNeedsNoMoreFramesThanFifo) {
  for (std::uint32_t layers = 6; layers <= 64; ++layers) {
    for (int tenths = 6; tenths <= 40; tenths += 2) {
      const double swap = tenths / 10.0;
      for (std::uint32_t frames = kLeastFrames; frames < least_by_plan(layers, swap); ++frames) {
        EXPECT_FALSE(flows("fifo", {layers, frames}, swap, 24))
            << layers << " layers, " << frames << " frames, " << swap;
      }
    }
  }
}

// fifo decides when a layer begins, so that a swap of one and a half takes two.
TEST(LayerSchedule, FifoRoundsSwapsUpToWholeLayers) {
  EXPECT_TRUE(flows("fifo", {48, 27}, 1.5, 24));
  EXPECT_FALSE(flows("fifo", {48, 26}, 1.5, 24));
  EXPECT_EQ(least_by_plan(48, 1.5), 18U);
}

TEST(LayerSchedule, WritingBackCountsAsTimeOfTheLink) {
  for (const std::uint32_t frames : {20U, 30U, 40U}) {
    const double sustained = best_ring(48, frames).sustains;
    StepTimer timer(*make_layer_schedule("fixed", {48, frames}));
    for (int step = 0; step < 8; ++step) {
      const auto timing =
          timer.step({.compute = 1, .fetch = 0.95 * sustained, .write_back = 0.05 * sustained});
      EXPECT_EQ(timing->stalled, 0) << frames;
      EXPECT_NEAR(timing->writing, timing->fetching * 0.05 / 0.95, 1e-6);
    }
  }
}

TEST(LayerSchedule, ATimerRefusesTimesThatAreNone) {
  StepTimer timer(*make_layer_schedule("fixed", {6, 4}));
  EXPECT_EQ(timer.step({.compute = -1}).error().code, Code::invalid_argument);
  EXPECT_EQ(timer.step({.compute = 1, .fetch = std::nan("")}).error().code, Code::invalid_argument);
  EXPECT_EQ(timer.step({.compute = 1, .fetch = 1})->seconds, 6);
}

}  // namespace
}  // namespace aqua::layer_swap::test
