// SPDX-License-Identifier: Apache-2.0
// What a planner cannot plan with is named, with the nearest that would do.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/concat.hpp"
#include "tests/systems/kv_stream/naive.hpp"

namespace aqua::kv_stream::test {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

// Two layers of 10 and 2 x 3 KV a request: a machine of 100 holds them.
PlanInput small_input() {
  return {.machines = 2,
          .machine_bytes = 100,
          .layers = 2,
          .layer_weight_bytes = 10,
          .layer_kv_bytes = 1,
          .prompt_tokens = 4,
          .new_tokens = 2,
          .microbatches = {{.requests = 1, .prompt_seconds = 4, .token_seconds = 1}}};
}

// plan(), explain() and needs() refuse alike, naming the call.
void refused(const std::string& says, const std::function<void(PlanInput&)>& change) {
  PlanInput in = small_input();
  change(in);
  const auto named = [&](const char* call, const auto& result) {
    ASSERT_FALSE(result.ok()) << says;
    EXPECT_EQ(result.error().code, Code::invalid_argument);
    EXPECT_EQ(result.error().message.find(concat(call, ": ")), 0U);
    EXPECT_NE(result.error().message.find(says), std::string::npos) << result.error().message;
  };
  named("plan", plan(in));
  named("explain", explain(in));
  named("needs", needs(in));
}

TEST(PlanBadInput, ACountThatCannotBeIsNamed) {
  ASSERT_TRUE(plan(small_input()).ok());
  refused("machines is 0: at least 1", [](PlanInput& in) { in.machines = 0; });
  refused("machines is 129: at most 128", [](PlanInput& in) { in.machines = 129; });
  refused("layers is 0: at least 1", [](PlanInput& in) { in.layers = 0; });
  refused("layer_weight_bytes is 0", [](PlanInput& in) { in.layer_weight_bytes = 0; });
  refused("layer_kv_bytes is 0", [](PlanInput& in) { in.layer_kv_bytes = 0; });
  refused("prompt_tokens is 0, an empty prompt: at least 1",
          [](PlanInput& in) { in.prompt_tokens = 0; });
  refused("new_tokens is 0", [](PlanInput& in) { in.new_tokens = 0; });
  refused("reserved_tokens is 1: at least the 2 new_tokens",
          [](PlanInput& in) { in.reserved_tokens = 1; });
  refused("requests is 2000000000000: at most",
          [](PlanInput& in) { in.requests = 2'000'000'000'000; });
  refused("reserved_bytes is 100 of machine_bytes 100",
          [](PlanInput& in) { in.reserved_bytes = 100; });
  refused("at most 4e+18", [](PlanInput& in) { in.layer_kv_bytes = UINT64_MAX / 2; });
  refused("at most 4e+18", [](PlanInput& in) { in.layer_weight_bytes = UINT64_MAX; });
}

TEST(PlanBadInput, ARateThatCannotBeIsNamed) {
  for (const double wrong : {0.99, -1.0, kNoNumber, kEndless}) {
    refused("at least 1, which is", [&](PlanInput& in) { in.stream_overhead = wrong; });
  }
  for (const double wrong : {-1.0, kNoNumber, kEndless}) {
    refused("machine_hour_price is", [&](PlanInput& in) { in.machine_hour_price = wrong; });
    refused("away.host_bytes_per_second is",
            [&](PlanInput& in) { in.away.host_bytes_per_second = wrong; });
    refused("away.lent_bytes_per_second is",
            [&](PlanInput& in) { in.away.lent_bytes_per_second = wrong; });
  }
  refused("swapping needs both", [](PlanInput& in) { in.away.host_bytes = 1; });
  refused("swapping needs both", [](PlanInput& in) { in.away.host_bytes_per_second = 1; });
  refused("swapping needs both", [](PlanInput& in) { in.away.lent_bytes = 1; });
  refused("its exit in host memory", [](PlanInput& in) { in.away = {0, 0, 1, 1}; });
  refused("nothing can be swapped", [](PlanInput& in) { in.only_swapped = true; });
}

TEST(PlanBadInput, AMicrobatchThatCannotBeIsNamed) {
  refused("microbatches is empty", [](PlanInput& in) { in.microbatches.clear(); });
  refused("has 0 requests", [](PlanInput& in) { in.microbatches[0].requests = 0; });
  refused("of 1 is there twice",
          [](PlanInput& in) { in.microbatches.push_back(in.microbatches[0]); });
  for (const double wrong : {0.0, -1.0, kNoNumber, kEndless}) {
    refused("prompt_seconds of the microbatch of 1 is",
            [&](PlanInput& in) { in.microbatches[0].prompt_seconds = wrong; });
    refused("token_seconds of the microbatch of 1 is",
            [&](PlanInput& in) { in.microbatches[0].token_seconds = wrong; });
    if (wrong == 0) continue;  // the link is never the slower
    refused("stream_seconds of the microbatch of 1 is",
            [&](PlanInput& in) { in.microbatches[0].stream_seconds = wrong; });
  }
}

std::string says(const PlanInput& in) {
  const auto made = plan(in);
  EXPECT_FALSE(made.ok());
  if (made.ok()) return "";
  EXPECT_EQ(made.error().code, Code::resource_exhausted);
  return made.error().message;
}

TEST(PlanBadInput, FewerMachinesThanTheModelNeedsIsAnsweredByHowMany) {
  PlanInput in = small_input();
  in.machines = 1;
  in.machine_bytes = 25;  // two layers and their KV take 32; one, with two microbatches, 22
  EXPECT_NE(says(in).find("machine_bytes of 32, or 2 machines"), std::string::npos) << says(in);
}

TEST(PlanBadInput, KvLargerThanTheMemoryIsAnsweredByASmallerMicrobatchOrMoreMemory) {
  PlanInput in = small_input();
  in.microbatches[0].requests = 100;  // one layer: 10, and 2 x 600 of KV
  EXPECT_NE(says(in).find("machine_bytes of 1210, or a microbatch of 7"), std::string::npos)
      << says(in) << " 2 x 7 x 6 = 84 beside 10; on one machine 6 x 12 = 72 beside 20";
}

TEST(PlanBadInput, TooLittleHostMemoryForWhatMustBeSwappedIsAnsweredByHowMuch) {
  PlanInput in = small_input();
  in.machine_bytes =
      21;  // two layers take 32 and one with two microbatches 22; with one of them 16
  in.away = {.host_bytes = 11, .host_bytes_per_second = 1};  // two microbatches are 12
  in.only_swapped = true;
  EXPECT_NE(says(in).find("What would do: machine_bytes of 32, or away.host_bytes of 12"),
            std::string::npos)
      << says(in);
  const auto splits = explain(in).value();
  EXPECT_TRUE(std::any_of(splits.begin(), splits.end(), [](const Split& split) {
    return split.lost == "does not fit: 1 bytes too many in the host memory of a machine";
  }));
  in.away.host_bytes = 12;
  EXPECT_TRUE(plan(in)->best.token.swaps);
}

TEST(PlanBadInput, ThatAPolicyHasTooFewMachinesIsItsReason) {
  PlanInput in = small_input();
  in.machines = 1;
  const Plan alone = plan(in).value();
  EXPECT_EQ(alone.outcomes[0].reason, "") << "the plan";
  EXPECT_EQ(alone.outcomes[1].reason, "needs at least 2 machines");
  EXPECT_EQ(alone.outcomes[2].reason, "needs at least 2 machines");
  EXPECT_EQ(alone.outcomes[3].reason, "needs at least 3 machines");
  in.machines = 2;
  in.machine_bytes = 33;  // one stage of 32 fits, but not with a prompt on its way: 40
  const std::string reason = plan(in)->outcomes[2].reason;
  EXPECT_EQ(reason.find("does not fit: 3 bytes too many on a prompt machine"), 0U) << reason;
  EXPECT_NE(reason.find("7 bytes too many on a token machine"), std::string::npos) << reason;
}

}  // namespace
}  // namespace aqua::kv_stream::test
