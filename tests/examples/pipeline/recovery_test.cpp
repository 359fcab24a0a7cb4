// SPDX-License-Identifier: Apache-2.0
#include "play/recovery.hpp"

#include <gtest/gtest.h>

namespace aqua::pipeline {
namespace {

// The second stage has died, and a replica of all but the last of 100 tokens is there.
kv_stream::RecoveryPlan plan_of(const PipelineShape& shape) {
  ModelShape model;  // 6 heads of 16 bytes; the second of two stages has 3 of 7 layers
  const Interrupted sequence{.sequence = 7, .prompt = 90, .delivered = 10};
  const Mark survivor{.cached = 99, .replica = 99, .untouched = false};
  const Mark successor{.cached = 0, .replica = 99};
  return plan_for(
      model, shape, {false, true}, {sequence}, {{survivor}, {successor}},
      {.link_bytes_per_second = 1e4, .prefill_seconds_per_token = 0.04, .reads_first = true});
}

TEST(PipelineRecovery, ReadsWhatOneRankHasOfAStage) {
  const double token = 2.0 * 3 * 6 * 16 / 1e4;  // seconds to read one, of all heads
  EXPECT_NEAR(plan_of({.stages = 2, .ranks = 1}).seconds_if_read, 99 * token, token);
  EXPECT_NEAR(plan_of({.stages = 2, .ranks = 2}).seconds_if_read, 99 * token / 2, token);
  EXPECT_NEAR(plan_of({.stages = 2, .ranks = 12}).seconds_if_read, 99 * token / 6, token)
      << "a head is the least that one has";
}

TEST(PipelineRecovery, OfTwoRanksReadsWhatOneWouldComputeAgain) {
  EXPECT_TRUE(plan_of({.stages = 2, .ranks = 1}).sequences.at(0).reads.empty());
  EXPECT_FALSE(plan_of({.stages = 2, .ranks = 2}).sequences.at(0).reads.empty());
}

}  // namespace
}  // namespace aqua::pipeline
