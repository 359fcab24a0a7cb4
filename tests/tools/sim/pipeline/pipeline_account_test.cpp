// SPDX-License-Identifier: Apache-2.0
// What holds of every run of pipelines: no token is lost or computed twice, memory is what was
// planned, playing a pass in one event changes nothing, and the same input gives the same output.
#include <algorithm>

#include "tests/tools/sim/pipeline/equal_requests.hpp"
#include "tools/sim/engine/random.hpp"

namespace aqua::sim::test {
namespace {

const GivenCost& some_cost() {
  static const GivenCost cost({{1, 0.3, 0.04}, {4, 1.2, 0.05}, {16, 4.8, 0.07}});
  return cost;
}

std::vector<TraceRequest> mixed(std::uint64_t seed, std::size_t count, double per_second) {
  Random random(seed);
  std::vector<TraceRequest> requests;
  Picos now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back({.arrival = now,
                        .prompt_tokens = 1 + static_cast<std::uint32_t>(random.below(500)),
                        .output_tokens = 1 + static_cast<std::uint32_t>(random.below(60))});
    if (per_second > 0) now += picos(random.exponential(1 / per_second));
  }
  return requests;
}

PipelineShape drawn(Random& random) {
  PipelineShape shape = small_shape();
  const auto draw = [&](std::uint64_t most) {
    return 1 + static_cast<std::uint32_t>(random.below(most));
  };
  if (random.below(2) == 0) {
    shape.prompt = {.pipelines = draw(3), .depth = draw(4), .microbatch = draw(5)};
  }
  shape.token = {.pipelines = draw(3), .depth = draw(6), .microbatch = draw(17)};
  shape.ending = random.below(2) == 0 ? Ending::together : Ending::refill;
  if (random.below(2) == 0) {
    shape.links =
        MachineLinks{.bytes_per_second = 1e6, .latency = picos(1e-4), .activation_bytes = 10};
  }
  // For 2,000 tokens of a prompt: some wait.
  if (random.below(2) == 0) {
    shape.host_bytes = std::uint64_t{2500} * ((840 + shape.token.depth - 1) / shape.token.depth);
  }
  shape.open = random.below(2) == 0;
  return shape;
}

TEST(PipelineAccount, EveryTokenIsComputedOnceAndGivenToItsUser) {
  Random random(1);
  for (std::uint64_t i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const PipelineShape shape = drawn(random);
    const auto requests = mixed(i, 60, shape.open ? 3 : 0);
    const PipelineOutcome outcome = must_serve(shape, some_cost(), requests);
    std::uint64_t prompt = 0, output = 0;
    for (const TraceRequest& request : requests) {
      prompt += request.prompt_tokens;
      output += request.output_tokens;
    }
    EXPECT_EQ(outcome.prompt_tokens, prompt);
    EXPECT_EQ(outcome.output_tokens, output);
    for (const RequestOutcome& request : outcome.requests) {
      EXPECT_LE(request.arrival, request.first_token);
      EXPECT_LE(request.first_token, request.finish);
      EXPECT_LE(request.finish, outcome.makespan + requests.front().arrival);
    }
    EXPECT_EQ(outcome.streamed_bytes, shape.apart() ? static_cast<double>(prompt) * 840 : 0);
    for (const MachineUse& machine : outcome.machines) {
      EXPECT_LE(machine.busy, outcome.makespan + requests.front().arrival);
      EXPECT_LE(machine.peak_host_bytes, shape.host_bytes > 0 ? shape.host_bytes : UINT64_MAX);
    }
  }
}

TEST(PipelineAccount, PlayingAPassInOneEventChangesNothing) {
  Random random(2);
  std::size_t played = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    PipelineShape shape = drawn(random);
    if (shape.links) continue;
    ++played;
    const auto requests = mixed(i, 60, shape.open ? 3 : 0);
    shape.skip = true;
    const PipelineOutcome quick = must_serve(shape, some_cost(), requests);
    shape.skip = false;
    const PipelineOutcome slow = must_serve(shape, some_cost(), requests);
    EXPECT_EQ(quick.makespan, slow.makespan);
    EXPECT_EQ(quick.store_full, slow.store_full);
    for (std::size_t k = 0; k < requests.size(); ++k) {
      ASSERT_EQ(quick.requests[k].first_token, slow.requests[k].first_token) << k;
      ASSERT_EQ(quick.requests[k].finish, slow.requests[k].finish) << k;
    }
    for (std::size_t k = 0; k < quick.machines.size(); ++k) {
      EXPECT_EQ(quick.machines[k].busy, slow.machines[k].busy);
      EXPECT_EQ(quick.machines[k].peak_bytes, slow.machines[k].peak_bytes);
    }
  }
  EXPECT_GT(played, 100U);
}

TEST(PipelineAccount, AFullStoreLetsPromptsWaitAndLosesNothing) {
  PipelineShape shape = small_shape();
  shape.prompt = {.pipelines = 1, .depth = 2, .microbatch = 1};
  shape.token = {.pipelines = 1, .depth = 2, .microbatch = 4};
  const auto requests = alike(64, 100, 50);
  const PipelineOutcome wide = must_serve(shape, some_cost(), requests);
  EXPECT_EQ(wide.store_full, 0);
  shape.host_bytes = 420 * 100 * 5;
  const PipelineOutcome narrow = must_serve(shape, some_cost(), requests);
  EXPECT_GT(narrow.store_full, 0);
  EXPECT_LE(narrow.machines[2].peak_host_bytes, shape.host_bytes);
  EXPECT_GT(wide.machines[2].peak_host_bytes, shape.host_bytes);
  // The slower side decides, and it never starves.
  EXPECT_LT(narrow.makespan, wide.makespan * 102 / 100);
}

// A prompt's activations take long over these links, a token's do not.
TEST(PipelineAccount, NoPassOvertakesAnotherBetweenTwoStages) {
  PipelineShape shape = small_shape();
  shape.token = {.pipelines = 1, .depth = 5, .microbatch = 4};
  shape.links = MachineLinks{.bytes_per_second = 2e4, .activation_bytes = 10};
  shape.timeline = true;
  const PipelineOutcome outcome = must_serve(shape, some_cost(), mixed(3, 200, 0));
  std::vector<std::vector<std::uint64_t>> order(shape.token.depth);
  for (const StageSpan& span : outcome.spans) order[span.stage].push_back(span.microbatch);
  EXPECT_GT(order[0].size(), 500U);
  for (const auto& of_stage : order) EXPECT_EQ(of_stage, order[0]);
}

TEST(PipelineAccount, RefillingAtOnceIsNeverWorseThanWaitingForTheLongest) {
  PipelineShape shape = small_shape();
  shape.token = {.pipelines = 1, .depth = 4, .microbatch = 16};
  const GivenCost quick_prompts({{1, 0.01, 0.04}, {16, 0.16, 0.05}});
  const auto requests = mixed(5, 400, 0);
  const PipelineOutcome together = must_serve(shape, quick_prompts, requests);
  shape.ending = Ending::refill;
  const PipelineOutcome refill = must_serve(shape, quick_prompts, requests);
  EXPECT_LT(refill.makespan, together.makespan * 3 / 4);
}

// 100 tokens of 840 layers in one stage are 84,000 bytes: a second at the link's rate, out of the
// prompt stage and into both token stages.
TEST(PipelineAccount, StreamedPromptsShareTheLinksOfTheirMachines) {
  PipelineShape shape = small_shape();
  shape.prompt = {.pipelines = 1, .depth = 1, .microbatch = 1};
  shape.token = {.pipelines = 1, .depth = 2, .microbatch = 1};
  const GivenCost cost({{1, 0.5, 0.01}});
  const auto requests = alike(2, 100, 2);
  const PipelineOutcome none = must_serve(shape, cost, requests);
  EXPECT_NEAR(seconds(none.requests[0].finish), 0.5 + 0.01, 1e-9);
  shape.links = MachineLinks{.bytes_per_second = 84'000};
  const PipelineOutcome slow = must_serve(shape, cost, requests);
  EXPECT_NEAR(seconds(slow.requests[0].first_token), 0.5, 1e-9);
  // The second begins to leave at 0.5 s, with half of the first under way: both at half the rate
  // until 1.5 s.
  EXPECT_NEAR(seconds(slow.requests[0].finish), 1.5 + 0.01, 1e-3);
  EXPECT_NEAR(seconds(slow.requests[1].finish), 2 + 0.01, 1e-3);
}

}  // namespace
}  // namespace aqua::sim::test
