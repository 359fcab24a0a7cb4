// SPDX-License-Identifier: Apache-2.0
// Whether a sequence is read or computed again, cell by cell.
#include <gtest/gtest.h>

#include <vector>

#include "aqua/kv_stream/recovery.hpp"

namespace aqua::kv_stream::test {
namespace {

// One sequence of 150 tokens, 140 of which can be read: by bytes a second, seconds a token and
// whether nothing is computed meanwhile.
TEST(RecoveryChoice, ReadsWhereThatIsTheShorter) {
  struct Case {
    double link, prefill;
    bool reads_first;
    std::uint32_t from;
    double seconds, if_read, if_computed;
  };
  for (const Case& each :
       std::vector<Case>{{1000, 1, false, 140, 10, 10, 150},      // 1.4 s of reading, beside 10
                         {1000, 1, true, 140, 11.4, 11.4, 150},   // before 10
                         {10, 1, false, 140, 140, 140, 150},      // 140 s, beside 10
                         {10, 1, true, 140, 150, 150, 150},       // as long as computing
                         {9, 1, false, 0, 150, 1400.0 / 9, 150},  // longer than computing
                         {9.99, 1, true, 0, 150, 10 + 1400 / 9.99, 150},
                         {1000, 0.009, false, 0, 1.35, 1.4, 1.35},
                         {1000, 0.01, true, 140, 1.5, 1.5, 1.5},
                         {1000, 0.0099, true, 0, 1.485, 1.499, 1.485}}) {
    const RecoveryInput in{.lost_workers = {false, true},
                           .lost_keepers = {false, false},
                           .token_bytes = {10, 10},
                           .sequences = {{.sequence = 7,
                                          .prompt_tokens = 100,
                                          .delivered = 50,
                                          .cached = {149, 0},
                                          .replicas = {{1, 0, 140}}}},
                           .link_bytes_per_second = each.link,
                           .prefill_seconds_per_token = each.prefill,
                           .reads_first = each.reads_first};
    const auto plan = plan_recovery(in);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->sequences.at(0).from, each.from) << each.link << ", " << each.prefill;
    EXPECT_NEAR(plan->seconds, each.seconds, 1e-9) << each.link << ", " << each.prefill;
    EXPECT_NEAR(plan->seconds_if_read, each.if_read, 1e-9) << each.link << ", " << each.prefill;
    EXPECT_NEAR(plan->seconds_if_computed, each.if_computed, 1e-9);
  }
}

// Two links, as busy with a sequence each: to compute one of these frees one link only, and the
// other one takes as long. To compute both frees both.
TEST(RecoveryChoice, ComputesAllWhereThatIsShorterAndNoneAloneWouldHelp) {
  const RecoveryInput in{
      .lost_workers = {false, false},
      .lost_keepers = {false, false},
      .token_bytes = {10, 10},
      .sequences =
          {{.sequence = 7, .prompt_tokens = 101, .cached = {0, 100}, .replicas = {{0, 1, 100}}},
           {.sequence = 8, .prompt_tokens = 101, .cached = {100, 0}, .replicas = {{1, 0, 100}}}},
      .link_bytes_per_second = 100,
      .prefill_seconds_per_token = 0.04,
      .reads_first = true};
  const auto plan = plan_recovery(in);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->seconds_if_read, 10.08, 1e-9);
  EXPECT_NEAR(plan->seconds_if_computed, 8.08, 1e-9);
  EXPECT_NEAR(plan->seconds, 8.08, 1e-9);
  EXPECT_NEAR(plan->compute_seconds, 8.08, 1e-9);
  EXPECT_NEAR(plan->link_seconds, 0, 1e-9);
  for (const Resumed& each : plan->sequences) {
    EXPECT_EQ(each.from, 0U) << each.sequence;
    EXPECT_TRUE(each.reads.empty()) << each.sequence;
  }
}

}  // namespace
}  // namespace aqua::kv_stream::test
