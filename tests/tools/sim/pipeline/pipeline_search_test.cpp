// SPDX-License-Identifier: Apache-2.0
// The search for a policy's best split plays others only as long as they may be the best: what it
// finds is what playing all of them to their ends finds.
#include <algorithm>
#include <optional>

#include "tests/tools/sim/ground.hpp"
#include "tests/tools/sim/pipeline/equal_requests.hpp"
#include "tools/sim/pipeline/search.hpp"

namespace aqua::sim::test {
namespace {

TEST(PipelineLimit, ARunIsCutOffIfAndOnlyIfItExceedsItsLimit) {
  const GivenCost cost({{1, 0.4, 0.04}, {4, 1.2, 0.1}});
  auto requests = alike(41, 10, 1);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].output_tokens = static_cast<std::uint32_t>(1 + i * 5 % 31);
  }
  for (const std::uint32_t prompts : {0U, 1U}) {
    for (const bool links : {false, true}) {
      PipelineShape shape = small_shape();
      shape.prompt = {.pipelines = prompts, .depth = 2, .microbatch = 1};
      shape.token = {.pipelines = 2, .depth = 3, .microbatch = 4};
      if (links) {
        shape.links = MachineLinks{
            .bytes_per_second = 1e5, .latency = kPicosPerSecond / 100, .activation_bytes = 64};
      }
      const PipelineOutcome whole = must_serve(shape, cost, requests);
      const double median = normalised_latency(whole, 0.5);
      const auto cut_off = [&](const RunLimit& limit) {
        const auto outcome = serve(shape, cost, requests, limit);
        EXPECT_TRUE(outcome.ok());
        if (!outcome->cut_off) {
          EXPECT_EQ(outcome->makespan, whole.makespan);
          EXPECT_EQ(outcome->output_tokens, whole.output_tokens);
        }
        return outcome->cut_off;
      };
      EXPECT_FALSE(cut_off({}));
      EXPECT_FALSE(cut_off({.makespan = whole.makespan}));
      EXPECT_TRUE(cut_off({.makespan = whole.makespan - 1}));
      EXPECT_TRUE(cut_off({.makespan = 0}));
      EXPECT_FALSE(cut_off({.median_latency = median}));
      EXPECT_TRUE(cut_off({.median_latency = median * (1 - 1e-9)}));
      EXPECT_TRUE(cut_off({.median_latency = 0}));
    }
  }
}

// Every split of the policy, with every microbatch, played to its end.
std::optional<double> best_of_all(const PipelineQuestion& question, const PipelinePolicy& policy) {
  std::optional<double> best;
  for (const kv_stream::MicrobatchCost& one : question.input.microbatches) {
    kv_stream::PlanInput input = question.input;
    input.microbatches = {one};
    for (const kv_stream::PlanInput& each : {input, question.input}) {
      for (const kv_stream::Split& split : must(kv_stream::explain(each))) {
        if (split.policy != policy.split || !split.fits) continue;
        const PipelineOutcome played = must(play_split(question, policy, split, 1));
        const double worth = question.load.per_second > 0 ? normalised_latency(played, 0.5)
                                                          : seconds(played.makespan);
        best = std::min(best.value_or(worth), worth);
      }
    }
  }
  return best;
}

TEST(PipelineSearch, FindsWhatPlayingEverySplitFinds) {
  const MachineGround ground =
      must(machine_ground(must(load_model("opt-66b")), must(load_server("a100x2")), {}));
  const ModelledCost cost(ground.cost);
  Trace trace;
  for (std::uint32_t i = 0; i < 50; ++i) {
    trace.requests.push_back({.prompt_tokens = 300 + i * 10, .output_tokens = 2 + i * 7 % 40});
  }
  std::size_t found = 0;
  for (const std::uint32_t machines : {3U, 5U}) {
    for (const double rate : {0.0, 2.0}) {
      const PipelineLoad load{.requests = 64, .context = 2048, .per_second = rate};
      const auto lengths = lengths_of(must(pipeline_requests(trace, load, 1)));
      const PipelineQuestion question{.ground = ground,
                                      .cost = cost,
                                      .trace = trace,
                                      .input = plan_input(ground, lengths, machines, {1, 4, 16}),
                                      .load = load,
                                      .links = false};
      for (const PipelinePolicy& policy :
           must(parse_pipeline_policies("colocated,colocated+dp,disaggregated"))) {
        SCOPED_TRACE(::testing::Message() << policy.name << ", " << machines << ", " << rate);
        const auto best = find_best(question, policy, 1);
        const auto naive = best_of_all(question, policy);
        ASSERT_EQ(best.ok(), naive.has_value());
        if (!best.ok()) continue;
        ++found;
        EXPECT_EQ(
            rate > 0 ? normalised_latency(best->outcome, 0.5) : seconds(best->outcome.makespan),
            *naive);
        EXPECT_FALSE(best->outcome.cut_off);
      }
    }
  }
  EXPECT_GE(found, 10U);
}

}  // namespace
}  // namespace aqua::sim::test
