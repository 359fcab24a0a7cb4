// SPDX-License-Identifier: Apache-2.0
// Simulated pipelines against the closed forms of the planner: equation 3, It and Ip.
#include "aqua/kv_stream/equations.hpp"
#include "tests/tools/sim/pipeline/equal_requests.hpp"

namespace aqua::sim::test {
namespace {

constexpr std::uint32_t kRequests = 4;  // of a microbatch

// What one more round of `extra` microbatches takes, for each of them.
double inverse_throughput_of(const PipelineShape& shape, const PassCost& cost, std::size_t rounds,
                             std::size_t extra, std::uint32_t output) {
  const auto makespan = [&](std::size_t microbatches) {
    return must_serve(shape, cost, alike(microbatches * kRequests, 10, output)).makespan;
  };
  const Picos more = makespan(rounds * extra + extra) - makespan(rounds * extra);
  return static_cast<double>(more) / static_cast<double>(extra);
}

struct Times {
  double prompt = 0, token = 0;
};
// In units that each depth below divides to whole picoseconds.
constexpr Times kTimes[] = {{8.4, 0.84}, {0.84, 8.4}, {0.84, 0.84}, {84, 0.084}};

TEST(PipelineEquations, AColocatedPipelineIsEquation3ToThePicosecond) {
  for (const Times& times : kTimes) {
    for (const std::uint32_t depth : {1U, 2U, 3U, 4U, 5U, 7U, 8U}) {
      for (const std::uint32_t tokens : {1U, 2U, 9U}) {
        for (const bool skip : {true, false}) {
          SCOPED_TRACE(::testing::Message() << times.prompt << " s, " << times.token << " s, depth "
                                            << depth << ", " << tokens << " tokens, " << skip);
          const GivenCost cost({{kRequests, times.prompt, times.token}});
          PipelineShape shape = small_shape();
          shape.token = {.pipelines = 1, .depth = depth, .microbatch = kRequests};
          shape.skip = skip;
          const double said = kv_stream::inverse_throughput(
              depth, times.prompt / depth, kv_stream::token_steps(times.token / depth, tokens));
          const double simulated = inverse_throughput_of(shape, cost, 3, depth, tokens + 1);
          EXPECT_LT(std::abs(simulated - said * kPicosPerSecond), 1);
        }
      }
    }
  }
}

TEST(PipelineEquations, SoManyMicrobatchesEndWhenTheMakespanSaysToThePicosecond) {
  for (const Times& times : kTimes) {
    for (const std::uint32_t depth : {1U, 2U, 3U, 5U, 8U}) {
      for (std::size_t microbatches = 1; microbatches <= 3 * depth; ++microbatches) {
        SCOPED_TRACE(::testing::Message() << times.prompt << " s, " << times.token << " s, depth "
                                          << depth << ", " << microbatches << " microbatches");
        const GivenCost cost({{kRequests, times.prompt, times.token}});
        PipelineShape shape = small_shape();
        shape.token = {.pipelines = 1, .depth = depth, .microbatch = kRequests};
        const double said =
            kv_stream::makespan(depth, times.prompt / depth,
                                kv_stream::token_steps(times.token / depth, 9), microbatches);
        const Picos simulated =
            must_serve(shape, cost, alike(microbatches * kRequests, 10, 10)).makespan;
        EXPECT_LE(std::abs(static_cast<double>(simulated) - said * kPicosPerSecond), 2);
      }
    }
  }
}

TEST(PipelineEquations, WithPromptsApartTheSlowerSideDecidesToThePicosecond) {
  constexpr std::uint32_t kTokens = 6;
  for (const Times& times : kTimes) {
    for (const std::uint32_t prompt_depth : {1U, 2U, 3U, 4U}) {
      for (const std::uint32_t token_depth : {1U, 2U, 5U, 8U}) {
        for (const double m : {1.0, 1.25}) {
          SCOPED_TRACE(::testing::Message() << times.prompt << " s, " << times.token << " s, "
                                            << prompt_depth << " and " << token_depth << ", " << m);
          const GivenCost cost({{kRequests, times.prompt, times.token}});
          PipelineShape shape = small_shape();
          shape.prompt = {.pipelines = 1, .depth = prompt_depth, .microbatch = kRequests};
          shape.token = {.pipelines = 1, .depth = token_depth, .microbatch = kRequests};
          shape.stream_overhead = m;
          const double prompts = m * times.prompt / prompt_depth;     // Ip
          const double tokens = kTokens * times.token / token_depth;  // It
          // Prompts and steps drift against each other; they meet again after 24 of them.
          const double simulated =
              inverse_throughput_of(shape, cost, 2, 24 * token_depth, kTokens + 1);
          EXPECT_LT(std::abs(simulated - std::max(prompts, tokens) * kPicosPerSecond), 1);
        }
      }
    }
  }
}

TEST(PipelineEquations, SeveralPipelinesAreAsFastTogether) {
  const GivenCost cost({{kRequests, 8.4, 0.84}});
  PipelineShape shape = small_shape();
  shape.token = {.pipelines = 3, .depth = 4, .microbatch = kRequests};
  const double one = kv_stream::inverse_throughput(4, 2.1, kv_stream::token_steps(0.21, 9));
  EXPECT_LT(std::abs(inverse_throughput_of(shape, cost, 3, 12, 10) - one / 3 * kPicosPerSecond), 1);
}

}  // namespace
}  // namespace aqua::sim::test
