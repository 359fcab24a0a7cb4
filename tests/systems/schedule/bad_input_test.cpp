// SPDX-License-Identifier: Apache-2.0
// What a scheduler cannot be made with or told is named, and changes nothing.
#include <cmath>
#include <limits>

#include "tests/systems/schedule/engine.hpp"

namespace aqua::schedule::test {
namespace {

const SchedulerOptions fine{.budget_tokens = 32, .block_tokens = 4, .device_blocks = 40};
constexpr double kNoNumbers[] = {-1.0, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()};

std::string refusal(std::string_view policy, const SchedulerOptions& options) {
  const auto made = make_scheduler(policy, options);
  EXPECT_FALSE(made.ok());
  if (made.ok()) return "";
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  return made.error().message;
}

TEST(BadInput, APolicyThatThereIsNotIsNamedBesideThoseThatThereAre) {
  const std::string said = refusal("luck", fine);
  EXPECT_NE(said.find("'luck'"), std::string::npos) << said;
  for (const std::string& name : scheduler_names()) {
    EXPECT_NE(said.find(name), std::string::npos) << said;
  }
  EXPECT_TRUE(make_scheduler(kDefaultPolicy, fine).ok());
}

TEST(BadInput, ACostThatCannotHaveBeenMeasuredIsNamed) {
  for (const double wrong : kNoNumbers) {
    SchedulerOptions options = fine;
    options.recompute_seconds_per_token = wrong;
    EXPECT_NE(refusal("auto", options).find("recompute_seconds_per_token is "), std::string::npos);
    options = fine;
    options.swap_seconds_per_block = wrong;
    EXPECT_NE(refusal("auto", options).find("swap_seconds_per_block is "), std::string::npos);
    options = fine;
    options.peer_seconds_per_block = wrong;
    EXPECT_NE(refusal("auto", options).find("peer_seconds_per_block is "), std::string::npos);
    options = fine;
    options.host_seconds_per_block = wrong;
    EXPECT_NE(refusal("auto", options).find("host_seconds_per_block is "), std::string::npos);
  }
}

TEST(BadInput, ATimeThatCannotHaveBeenMeasuredIsNamedAndTheLastIsKept) {
  for (const std::string& policy : scheduler_names()) {
    const auto made = make_scheduler(policy, fine);
    Scheduler& scheduler = **made;
    const auto refused = [&](Tier tier, double seconds) {
      const auto told = scheduler.set_seconds_per_block(tier, seconds);
      ASSERT_FALSE(told.ok()) << seconds;
      EXPECT_EQ(told.error().code, Code::invalid_argument);
      EXPECT_NE(told.error().message.find("set_seconds_per_block: "), std::string::npos);
      EXPECT_NE(told.error().message.find(to_string(tier)), std::string::npos);
    };
    for (const double wrong : {0.0, kNoNumbers[0], kNoNumbers[1], kNoNumbers[2]}) {
      refused(Tier::host, wrong);
    }
    refused(Tier::local, 0.001);
    ASSERT_TRUE(scheduler.set_seconds_per_block(Tier::peer, 0.01).ok());
    ASSERT_TRUE(scheduler.set_seconds_per_block(Tier::host, 0.001).ok());
    refused(Tier::host, 0);
    for (std::uint64_t id = 1; id <= 12; ++id) {
      ASSERT_TRUE(scheduler.arrive({.id = SequenceId{id}, .prompt_tokens = 20}).ok());
    }
    for (int i = 0; i < 40; ++i) {
      const Batch batch = scheduler.next();
      for (const Preemption& out : batch.preemptions) {
        EXPECT_EQ(out.to, policy == "auto" ? Tier::host : Tier::peer) << policy;
        ASSERT_TRUE(scheduler.paged_out(out.id, out.to).ok());
      }
      if (batch.computes()) {
        ASSERT_TRUE(scheduler.commit().ok());
      }
    }
  }
}

TEST(BadInput, WhatIsCheaperCannotBeSaidOfPromptsThatCostNothing) {
  SchedulerOptions options = fine;
  options.preempt_by = PreemptBy::cheaper;
  options.swap_seconds_per_block = 0.001;
  const std::string said = refusal("fcfs", options);
  EXPECT_NE(said.find("recompute_seconds_per_token, which is 0"), std::string::npos) << said;
  options.recompute_seconds_per_token = 0.001;
  options.swap_seconds_per_block = 0;
  EXPECT_TRUE(make_scheduler("fcfs", options).ok()) << "copies may be free";
}

TEST(BadInput, ARequestThatCannotBeIsNamedAndNobodyHasCome) {
  for (const std::string& policy : scheduler_names()) {
    const auto made = make_scheduler(policy, fine);
    Scheduler& scheduler = **made;
    ASSERT_TRUE(scheduler.arrive({.id = SequenceId{1}, .prompt_tokens = 8}).ok());
    const SchedulerStatus before = scheduler.status();
    const auto refused = [&](const Request& request, Code code, const char* what) {
      const auto told = scheduler.arrive(request);
      ASSERT_FALSE(told.ok()) << what;
      EXPECT_EQ(told.error().code, code) << what;
      EXPECT_NE(told.error().message.find(what), std::string::npos) << told.error().message;
      EXPECT_EQ(scheduler.status(), before) << what;
    };
    using enum Code;
    refused({.id = SequenceId{1}, .prompt_tokens = 8}, already_exists, "sequence 1");
    refused({.id = SequenceId{2}}, invalid_argument, "prompt_tokens");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .generated_tokens = 2, .cached_tokens = 11},
            invalid_argument, "cached_tokens 11 of 10");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .max_new_tokens = 2, .generated_tokens = 3},
            invalid_argument, "max_new_tokens is 2, and 3 were generated");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .generated_tokens = UINT32_MAX},
            invalid_argument, "tokens");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .generated_tokens = 153}, resource_exhausted,
            "needs 41 blocks");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .lead = 2e12}, invalid_argument,
            "lead is 2e+12");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .lead = kNoNumbers[1]}, invalid_argument,
            "lead is nan");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .max_new_tokens = UINT32_MAX},
            invalid_argument, "tokens");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .max_new_tokens = 160}, resource_exhausted,
            "blocks");
    for (const double wrong : {0.0, kNoNumbers[0], kNoNumbers[1], kNoNumbers[2]}) {
      refused({.id = SequenceId{2}, .prompt_tokens = 8, .weight = wrong}, invalid_argument,
              "weight");
    }
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .weight = 5e-324}, invalid_argument,
            "weight is 4.94066e-324, not from 1e-06 to 1e+06");
    refused({.id = SequenceId{2}, .prompt_tokens = 8, .weight = 2e6}, invalid_argument,
            "weight is 2e+06");
  }
}

// An engine may go on beyond the limit that it gave.
TEST(BadInput, AnAnswerBeyondItsLimitIsServedOn) {
  for (const std::string& policy : scheduler_names()) {
    const auto made = make_scheduler(policy, fine);
    Scheduler& scheduler = **made;
    for (std::uint64_t id = 1; id <= 12; ++id) {
      ASSERT_TRUE(
          scheduler.arrive({.id = SequenceId{id}, .prompt_tokens = 20, .max_new_tokens = 2}).ok());
    }
    for (int i = 0; i < 2000; ++i) {
      const Batch batch = scheduler.next();
      for (const Preemption& out : batch.preemptions) {
        if (out.how == Preemption::How::swap) {
          ASSERT_TRUE(scheduler.paged_out(out.id, Tier::peer).ok());
        }
      }
      for (const PageIn& in : batch.page_ins) {
        ASSERT_TRUE(scheduler.paged_in(in.id).ok());
      }
      if (batch.computes()) {
        ASSERT_TRUE(scheduler.commit().ok());
      }
      for (std::uint64_t id = 1; id <= 12; ++id) {
        const auto one = scheduler.sequence(SequenceId{id});
        if (one.ok() && one->generated_tokens >= 40) {
          ASSERT_TRUE(scheduler.finish(SequenceId{id}).ok());
        }
      }
    }
    EXPECT_EQ(scheduler.status().waiting + scheduler.status().resident, 0U) << policy;
    EXPECT_EQ(scheduler.status().swapped, 0U) << policy;
  }
}

}  // namespace
}  // namespace aqua::schedule::test
