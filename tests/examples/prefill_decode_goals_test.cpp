// SPDX-License-Identifier: Apache-2.0
// A report of prefill_decode in, goals out: met at the limit, missed beyond, unmeasured without.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "play/goals.hpp"
#include "tests/bench/goal_table.hpp"

namespace aqua::prefill_decode {
namespace {

using nlohmann::json;

json at_the_limits() {
  return {{"engine", "paged"},
          {"conversations",
           {{"answered", 32},
            {"equal_tokens", 32},
            {"equal_logits", 32},
            {"copied_bytes", 0},
            {"same_memory", true},
            {"memory_ratio", 1.02}}},
          {"weights",
           {{"answered", 160},
            {"equal_logits", 160},
            {"tokens_per_second_over_private", {{"median", 0.97}, {"samples", 5}}},
            {"weight_sizes_saved", 2.9},
            {"memory_over_file", 1.02}}},
          {"long_prompts", {{"prompts", 4}, {"p99_ratio", 5}}}};
}

// Goals that are missed once this figure is another one.
std::size_t missed_with(const char* part, const char* key, const json& value) {
  json report = at_the_limits();
  report[part][key] = value;
  const json goals = goals_of(report);
  return goals.size() - bench::met(goals);
}

TEST(PrefillDecodeGoals, AreAllMetAtTheirLimits) {
  const json goals = goals_of(at_the_limits());
  EXPECT_EQ(goals.size(), 9U);
  EXPECT_EQ(bench::met(goals), 9U) << goals.dump(1);
}

TEST(PrefillDecodeGoals, AreEachMissedBeyond) {
  EXPECT_EQ(missed_with("conversations", "equal_logits", 31), 1U);
  EXPECT_EQ(missed_with("conversations", "copied_bytes", 1), 1U);
  EXPECT_EQ(missed_with("conversations", "same_memory", false), 1U);
  EXPECT_EQ(missed_with("conversations", "memory_ratio", 1.03), 1U);
  EXPECT_EQ(missed_with("weights", "equal_logits", 159), 1U);
  EXPECT_EQ(missed_with("weights", "tokens_per_second_over_private",
                        json{{"median", 0.96}, {"samples", 5}}),
            1U);
  EXPECT_EQ(missed_with("weights", "weight_sizes_saved", 2.89), 1U);
  EXPECT_EQ(missed_with("weights", "memory_over_file", 1.03), 1U);
  EXPECT_EQ(missed_with("long_prompts", "p99_ratio", 4.9), 1U);
}

TEST(PrefillDecodeGoals, AreUnmeasuredWhereAFigureIsMissing) {
  json report = at_the_limits();
  report["conversations"].erase("memory_ratio");
  report["weights"]["answered"] = 0;
  const json goals = goals_of(report);
  EXPECT_EQ(bench::met(goals), 7U);
  EXPECT_TRUE(bench::find(goals, "memory of the cache")["measured"].is_null());
  EXPECT_TRUE(bench::find(goals, "logits of private weights")["measured"].is_null());
}

TEST(PrefillDecodeGoals, OfPartsThatDidNotRunAreNotListed) {
  EXPECT_TRUE(goals_of(json::object()).empty());
  json report = at_the_limits();
  report.erase("weights");
  EXPECT_EQ(goals_of(report).size(), 5U);
}

TEST(PrefillDecodeGoals, OfLlamaCppAreTokensAndNotBytesInPlace) {
  json report = at_the_limits();
  report["engine"] = "llama.cpp";
  report["conversations"]["copied_bytes"] = 1 << 20;
  report["conversations"]["equal_logits"] = 0;
  EXPECT_EQ(bench::met(goals_of(report)), 8U);
  report["conversations"]["equal_tokens"] = 31;
  EXPECT_EQ(bench::met(goals_of(report)), 7U);
}

}  // namespace
}  // namespace aqua::prefill_decode
