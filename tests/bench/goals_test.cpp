// SPDX-License-Identifier: Apache-2.0
// Rows in, goals out: met at the limit, missed below it, unmeasured where a row is missing.
#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "report/goal.hpp"
#include "report/gpu_goals.hpp"
#include "report/planner_goals.hpp"
#include "report/reclaim_goals.hpp"
#include "tests/bench/goal_table.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr double kGiB = double{1U << 30U};

json row(const char* group, const char* direction, std::size_t block, const char* way, double gated,
         double posted) {
  return {{"group", group},
          {"direction", direction},
          {"block_bytes", block},
          {"way", way},
          {"bytes", kGiB},
          {"gbps_median", 100 * gated},
          {"posted_gbps_median", 100 * posted},
          {"ratio_to_baseline_median", gated},
          {"posted_ratio_to_baseline_median", posted}};
}

// All sizes of a group in one direction: two ways, the choice between them, and a copy per block.
json sizes(const char* group, const char* direction, std::size_t first, std::size_t last,
           double ratio) {
  json rows = json::array();
  for (std::size_t block = first; block <= last; block *= 2) {
    rows.push_back(row(group, direction, block, "bulk", 1, 1));
    rows.push_back(row(group, direction, block, "each", ratio / 5, ratio / 5));
    rows.push_back(row(group, direction, block, "kernel vector", 2 * ratio, 0));  // with a list
    rows.push_back(row(group, direction, block, "kernel blocks vector", ratio, 0));
    rows.push_back(row(group, direction, block, "kernel blocks bulk", ratio / 2, 0));
    rows.push_back(row(group, direction, block, "library", ratio, ratio));
    rows.push_back(row(group, direction, block, "library each", ratio / 5, ratio / 5));
    rows.push_back(row(group, direction, block, "library staged", ratio, ratio));
  }
  return rows;
}

void append(json& all, const json& some) {
  all.insert(all.end(), some.begin(), some.end());
}

json everything(double ratio) {
  json rows = json::array();
  for (const char* d : {"gather", "scatter"}) append(rows, sizes("hbm", d, 4096, 1 << 20, ratio));
  for (const char* d : {"offload", "fetch", "both"})
    append(rows, sizes("host", d, 16 << 10, 2 << 20, ratio));
  append(rows, sizes("slab", "offload", 16 << 10, 2 << 20, ratio));
  return rows;
}

TEST(Goal, IsMetAtItsLimitAndMissedBeyond) {
  EXPECT_TRUE(judge("g", Bound::at_least, 0.9, 0.9)["met"].get<bool>());
  EXPECT_FALSE(judge("g", Bound::at_least, 0.9, 0.89)["met"].get<bool>());
  EXPECT_TRUE(judge("g", Bound::at_most, 1.1, 1.1)["met"].get<bool>());
  EXPECT_FALSE(judge("g", Bound::at_most, 1.1, 1.11)["met"].get<bool>());
}

TEST(Goal, ThatIsNotMeasuredIsMissed) {
  const json goal = judge("g", Bound::at_most, 1, std::nullopt);
  EXPECT_TRUE(goal["measured"].is_null());
  EXPECT_FALSE(goal["met"].get<bool>());
}

TEST(GpuGoals, AreAllMetByRatiosAtTheirLimits) {
  const json goals = gpu_goals(everything(0.95));
  // Gather and scatter, host three ways, slab, each judged four times; against a copy per block
  // twice; kernels alone in gather, scatter and slab.
  EXPECT_EQ(goals.size(), 4U * (2 + 3 + 1) + 2 * 3 + 3);
  EXPECT_EQ(met(goals), goals.size());
}

TEST(GpuGoals, OfTheHostAreMissedWhereThoseWithinTheGpuAreMet) {
  const json goals = gpu_goals(everything(0.94));
  EXPECT_TRUE(find(goals, "hbm gather")["met"].get<bool>());
  EXPECT_TRUE(find(goals, "slab offload")["met"].get<bool>());
  for (const char* direction : {"offload", "fetch", "both"})
    EXPECT_FALSE(find(goals, std::string("host ") + direction)["met"].get<bool>());
}

TEST(GpuGoals, AreAllMissedButThoseAgainstACopyPerBlockByHalfTheRate) {
  EXPECT_EQ(met(gpu_goals(everything(0.5))), 2U * 3);
}

TEST(GpuGoals, TellAnUnluckyChoiceFromWaysThatAreSlow) {
  json rows = everything(0.95);
  for (json& r : rows)
    if (r["way"] == "library" && r["block_bytes"] == 65536)
      r["posted_ratio_to_baseline_median"] = 0.4;
  const json goals = gpu_goals(rows);
  EXPECT_TRUE(
      find(goals, "one bulk copy, the library's best way, with posting")["met"].get<bool>());
  const json& chosen = find(goals, "one bulk copy, the library's choice, with posting");
  EXPECT_FALSE(chosen["met"].get<bool>());
  EXPECT_DOUBLE_EQ(chosen["measured"].get<double>(), 0.4);
  EXPECT_TRUE(find(goals, "the library's choice, queued ahead")["met"].get<bool>());
}

TEST(GpuGoals, AgainstACopyPerBlockWantFiveTimesItsRate) {
  json rows = sizes("host", "offload", 16 << 10, 2 << 20, 1);
  for (json& r : rows)
    if (r["way"] == "each") r["posted_gbps_median"] = 21;
  const json goals = gpu_goals(rows);
  const json& goal = find(goals, "offload, blocks of 16 KiB, over cudaMemcpyAsync per block");
  EXPECT_DOUBLE_EQ(goal["measured"].get<double>(), 100.0 / 21);
  EXPECT_FALSE(goal["met"].get<bool>());
}

TEST(GpuGoals, AreUnmeasuredWhereASizeIsMissingOrTooFewBytesMoved) {
  json rows = sizes("hbm", "gather", 4096, 1 << 19, 1);
  EXPECT_TRUE(find(gpu_goals(rows), "hbm gather")["measured"].is_null());
  rows = sizes("hbm", "gather", 4096, 1 << 20, 1);
  for (json& r : rows) r["bytes"] = kGiB / 2;
  EXPECT_TRUE(find(gpu_goals(rows), "hbm gather")["measured"].is_null());
}

TEST(GpuGoals, TakeNoRowThatWentAnotherWay) {
  for (const char* why : {"unreachable", "full", "refused"}) {
    json rows = everything(0.95);
    for (json& r : rows)
      if (r["way"] == "library")
        r["ran"] = {{"kernel", 1}, {why, r["block_bytes"] == 65536 ? 1 : 0}};
    const json goals = gpu_goals(rows);
    EXPECT_TRUE(find(goals,
                     "hbm gather, blocks of 4 KiB to 1 MiB, over one bulk copy, the "
                     "library's choice, with posting")["measured"]
                    .is_null())
        << why;
    EXPECT_TRUE(find(goals, "one bulk copy, the library's best way, with posting")["met"]) << why;
    EXPECT_TRUE(find(goals,
                     "blocks of 16 KiB, over cudaMemcpyAsync per block, the library's "
                     "choice")["met"])
        << why;
  }
}

TEST(GpuGoals, OfGroupsThatDidNotRunAreNotListed) {
  EXPECT_THAT(gpu_goals(json::array()), ::testing::IsEmpty());
  EXPECT_EQ(gpu_goals(sizes("hbm", "gather", 4096, 1 << 20, 1)).size(), (4U + 1) * 2);
}

TEST(GpuGoals, OfKernelsAloneAreOfTheFasterByBlocksAtItsWorstSize) {
  json rows = sizes("hbm", "gather", 4096, 1 << 20, 1);
  for (json& r : rows) {
    if (r["block_bytes"] != 4096) continue;
    if (r["way"] == "kernel blocks vector") r["ratio_to_baseline_median"] = 0.7;
    if (r["way"] == "kernel blocks bulk") r["ratio_to_baseline_median"] = 0.8;
  }
  const json goals = gpu_goals(rows);
  const json& alone =
      find(goals, "hbm gather, blocks of 4 KiB to 1 MiB, over one bulk copy, the faster kernel");
  EXPECT_DOUBLE_EQ(alone["measured"].get<double>(), 0.8);
  EXPECT_FALSE(alone["met"].get<bool>());
  EXPECT_TRUE(
      find(goals,
           "hbm gather, blocks of 4 KiB to 1 MiB, over one bulk copy, the library's best")["met"]
          .get<bool>());
}

TEST(GpuGoals, CompareACopyPerBlockWithPostingAlone) {
  const json goals = gpu_goals(everything(1));
  for (const json& goal : goals) {
    const std::string text = goal["goal"];
    if (text.find("cudaMemcpyAsync per block") == text.npos) continue;
    EXPECT_THAT(text, ::testing::EndsWith("with posting"));
  }
}

json drawn(std::size_t sizes, double usual, double worst) {
  json rows = json::array();
  for (std::size_t i = 0; i < sizes; ++i) {
    rows.push_back({{"link", "host"},
                    {"piece_bytes", 4096 + 16 * i},
                    {"bytes", 1 << 20},
                    {"ratio", i == 0 ? worst : usual}});
  }
  return rows;
}

TEST(PlannerGoals, AreMetAtTheirLimitsAndMissedBeyond) {
  EXPECT_EQ(met(planner_goals(drawn(30, 1.03, 1.10))), 2U);
  EXPECT_EQ(met(planner_goals(drawn(30, 1.04, 1.10))), 1U);
  EXPECT_EQ(met(planner_goals(drawn(30, 1.03, 1.11))), 1U);
}

TEST(PlannerGoals, CountNothingThatTheClockCannotTell) {
  json rows = drawn(31, 1.03, 1.11);
  for (json& row : rows) row["resolved"] = row["ratio"] < 1.11;
  const json goals = planner_goals(rows);
  EXPECT_EQ(met(goals), 2U);
  for (const json& goal : goals) {
    ASSERT_EQ(goal["left_out"].size(), 1U) << "what was left out is told";
    EXPECT_EQ(goal["left_out"][0]["rows"], 1);
    EXPECT_EQ(goal["left_out"][0]["of"], 31);
    EXPECT_EQ(goal["left_out"][0]["worst"], 1.11);
  }
  for (json& row : rows) row["resolved"] = false;
  EXPECT_EQ(met(planner_goals(rows)), 0U);
}

TEST(PlannerGoals, TakeNoRowThatWentAnotherWayAndSaySo) {
  json rows = drawn(32, 1.03, 1.11);
  for (json& row : rows)
    row["ran"] = {{"each", {{"each", 1}}}, {"kernel", {{"refused", row["ratio"] < 1.11 ? 0 : 1}}}};
  rows[1]["resolved"] = false;
  const json goals = planner_goals(rows);
  EXPECT_EQ(met(goals), 2U);
  for (const json& goal : goals) {
    ASSERT_EQ(goal["left_out"].size(), 2U);
    const json& otherwise = goal["left_out"][1];
    EXPECT_EQ(otherwise["rows"], 1);
    EXPECT_EQ(otherwise["of"], 32);
    EXPECT_EQ(otherwise["worst"], 1.11);
    EXPECT_EQ(otherwise["why"], "another way ran than was asked for");
  }
  for (json& row : rows) row["ran"] = {{"kernel", {{"refused", 1}}}};
  ASSERT_EQ(planner_goals(rows).size(), 2U) << "unmeasured, and not silent";
  EXPECT_EQ(met(planner_goals(rows)), 0U);
}

TEST(PlannerGoals, WantThirtySizes) {
  const json goals = planner_goals(drawn(29, 1, 1));
  ASSERT_EQ(goals.size(), 2U);
  EXPECT_TRUE(goals[0]["measured"].is_null());
  EXPECT_EQ(met(goals), 0U);
}

ReclaimMedians gpu(double all_ms, std::size_t mib = 4096) {
  return {.emulated = false,
          .mib = mib,
          .all_ms = all_ms,
          .first_slab_ms = 10,
          .copy_ms = 80,
          .unmap_ms = 10,
          .scrub_ms = 10};
}

TEST(ReclaimGoals, AllowATenthMoreThanThePartsAndTwentyMilliseconds) {
  EXPECT_EQ(met(reclaim_goals(gpu(129.9))), 2U);
  EXPECT_EQ(met(reclaim_goals(gpu(131))), 1U);
}

TEST(ReclaimGoals, WantFourGibibytesOnAGpu) {
  EXPECT_TRUE(reclaim_goals(gpu(100, 1024))[0]["measured"].is_null());
}

TEST(ReclaimGoals, AllowAFifthMoreOnAnEmulatedGpu) {
  ReclaimMedians emulated = gpu(139, 1024);
  emulated.emulated = true;
  EXPECT_EQ(met(reclaim_goals(emulated)), 2U);
  emulated.first_slab_ms = 31;
  EXPECT_EQ(met(reclaim_goals(emulated)), 1U);
}

}  // namespace
}  // namespace aqua::bench
