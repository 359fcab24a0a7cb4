// SPDX-License-Identifier: Apache-2.0
// Rows of layer_pool_bench in, goals out: met at the limit, missed beyond, unmeasured without.
#include "report/layer_pool_goals.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/bench/goal_table.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

json median_of(double value) {
  return {{"median", value}, {"samples", 3}};
}

json everything() {
  return json::array(
      {{{"part", "step"},
        {"ratio", median_of(1.05)},
        {"written_over_fetched", 0.05},
        {"host_us_per_streamed_layer", 20}},
       {{"part", "on_demand"}, {"ratio", median_of(1.5)}},
       {{"part", "links"},
        {"link_bytes_per_second", 582e6},
        {"measured_frames", 7},
        {"reckoned_frames", 8}},
       {{"part", "schedules"},
        {"link_bytes_per_second", 300e6},
        {"layers", 12},
        {"fixed_frames", 9},
        {"fifo_frames", 9},
        {"replayed_fifo_frames", 10}},
       {{"part", "adaptive"},
        {"shape", "8 layers"},
        {"ratio", median_of(0.98)},
        {"converged_step", 20},
        {"filled_step", 20}},
       {{"part", "halved"},
        {"gone_after_steps", 20},
        {"back_after_steps", 100},
        {"frames_before", 5},
        {"frames_after", 7},
        {"fetch_slowdown", 1.5}},
       {{"part", "halved"},
        {"gone_after_steps", 50},
        {"back_after_steps", 40},
        {"frames_before", 5},
        {"frames_after", 8},
        {"fetch_slowdown", 2.1}},
       {{"part", "burst"}, {"changes", 0}, {"stalled_steps", 4}, {"fetch_slowdown", 1.5}},
       {{"part", "memory"}, {"throughput", median_of(0.98)}, {"bytes_ratio", 1.67}},
       {{"part", "graphs"}, {"wrong_words", 0}}});
}

TEST(LayerPoolGoals, AreAllMetAtTheirLimits) {
  const json goals = layer_pool_goals(everything());
  EXPECT_EQ(goals.size(), 15U);
  EXPECT_EQ(met(goals), 15U) << goals.dump(1);
}

TEST(LayerPoolGoals, AreMissedBeyondThem) {
  json rows = everything();
  rows[0]["ratio"] = median_of(1.06);
  rows[0]["written_over_fetched"] = 0.06;
  rows[0]["host_us_per_streamed_layer"] = 21;
  rows[1]["ratio"] = median_of(1.4);
  rows[2]["measured_frames"] = 6;
  rows[3]["fifo_frames"] = 8;
  rows[4]["ratio"] = median_of(0.97);
  rows[4]["converged_step"] = 21;
  rows[6]["gone_after_steps"] = 51;
  rows[6]["back_after_steps"] = 101;
  rows[7]["changes"] = 1;
  rows[8]["throughput"] = median_of(0.97);
  rows[8]["bytes_ratio"] = 1.6;
  rows[9]["wrong_words"] = 1;
  EXPECT_EQ(met(layer_pool_goals(rows)), 0U);
}

TEST(LayerPoolGoals, OfLinksCountFramesEitherWay) {
  json rows = everything();
  rows[2]["measured_frames"] = 9;
  EXPECT_TRUE(find(layer_pool_goals(rows), "link of 582 MB/s")["met"].get<bool>());
  rows[2]["measured_frames"] = 10;
  EXPECT_FALSE(find(layer_pool_goals(rows), "link of 582 MB/s")["met"].get<bool>());
}

TEST(LayerPoolGoals, AreUnmeasuredWithoutTheFigure) {
  json rows = everything();
  rows[4]["filled_step"] = nullptr;
  rows[5]["gone_after_steps"] = nullptr;
  rows[5]["back_after_steps"] = nullptr;
  for (const char* by : {"fixed_frames", "fifo_frames", "replayed_fifo_frames"}) rows[3][by] = 12;
  const json goals = layer_pool_goals(rows);
  for (const char* text : {"to the first full pool", "until stalls are gone", "the link free again",
                           "by `fixed`, less those", "away from its replay"}) {
    EXPECT_TRUE(find(goals, text)["measured"].is_null()) << text;
    EXPECT_FALSE(find(goals, text)["met"].get<bool>()) << text;
  }
}

TEST(LayerPoolGoals, OfFixedThatStallsWhereFifoDoesNotIsMissed) {
  json rows = everything();
  rows[3]["fixed_frames"] = 12;
  const json goal = find(layer_pool_goals(rows), "by `fixed`, less those");
  EXPECT_EQ(goal["measured"], 3);
  EXPECT_FALSE(goal["met"].get<bool>());
}

TEST(LayerPoolGoals, OfFramesThatHadNoWayBackAreUnmeasured) {
  json rows = everything();
  rows[6]["frames_after"] = 6;
  const json goals = layer_pool_goals(rows);
  EXPECT_TRUE(find(goals, "the link free again")["measured"].is_null());
  EXPECT_TRUE(find(goals, "until stalls are gone")["met"].get<bool>());
}

TEST(LayerPoolGoals, OfABurstThatStalledNothingAreUnmeasured) {
  json rows = everything();
  rows[7]["stalled_steps"] = 0;
  EXPECT_TRUE(find(layer_pool_goals(rows), "for a moment")["measured"].is_null());
}

TEST(LayerPoolGoals, OfALoadThatTheLinkDidNotFeelAreUnmeasured) {
  for (const json& slowdown : {json(1.49), json()}) {
    json rows = everything();
    rows[6]["fetch_slowdown"] = slowdown;
    rows[7]["fetch_slowdown"] = slowdown;
    const json goals = layer_pool_goals(rows);
    for (const char* text : {"until stalls are gone", "the link free again", "for a moment"})
      EXPECT_TRUE(find(goals, text)["measured"].is_null()) << text << slowdown;
  }
}

TEST(LayerPoolGoals, OfPartsThatDidNotRunAreNotListed) {
  EXPECT_TRUE(layer_pool_goals(json::array()).empty());
}

}  // namespace
}  // namespace aqua::bench
