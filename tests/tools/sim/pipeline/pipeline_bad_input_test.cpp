// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/sim/pipeline/equal_requests.hpp"

namespace aqua::sim::test {
namespace {

const GivenCost& any_cost() {
  static const GivenCost cost({{1, 0.004, 0.04}});
  return cost;
}

PipelineShape apart() {
  PipelineShape shape = small_shape();
  shape.prompt = {.pipelines = 1, .depth = 2, .microbatch = 1};
  shape.token = {.pipelines = 1, .depth = 2, .microbatch = 1};
  return shape;
}

Error refused(const PipelineShape& shape, const std::vector<TraceRequest>& requests) {
  const auto outcome = serve(shape, any_cost(), requests);
  EXPECT_FALSE(outcome.ok());
  return outcome.ok() ? Error{} : outcome.error();
}

TEST(PipelineBadInput, AShapeThatCannotBeIsNamed) {
  const auto requests = alike(4, 10, 3);
  PipelineShape deep = apart();
  deep.token.depth = 841;
  EXPECT_NE(refused(deep, requests).message.find("841 stages: 1 to 840"), std::string::npos);
  PipelineShape none = apart();
  none.token.pipelines = 0;
  EXPECT_NE(refused(none, requests).message.find("no pipeline for tokens"), std::string::npos);
  PipelineShape empty = apart();
  empty.prompt.microbatch = 0;
  EXPECT_NE(refused(empty, requests).message.find("prompt microbatches of 0"), std::string::npos);
  PipelineShape faster = apart();
  faster.stream_overhead = 0.9;
  EXPECT_NE(refused(faster, requests).message.find("0.9: at least 1"), std::string::npos);
  PipelineShape chunked = apart();
  chunked.chunk_tokens = 8;
  EXPECT_NE(refused(chunked, requests).message.find("chunks"), std::string::npos);
}

TEST(PipelineBadInput, RequestsOfWhichNothingCanBeToldAreNamed) {
  EXPECT_NE(refused(apart(), alike(1, 10, 3)).message.find("trace of 1"), std::string::npos);
  EXPECT_NE(refused(apart(), alike(2, 0, 3)).message.find("empty prompt"), std::string::npos);
  EXPECT_NE(refused(apart(), alike(2, 10, 0)).message.find("answer of 0"), std::string::npos);
}

TEST(PipelineBadInput, ARunThatMayOutlastVirtualTimeIsNamed) {
  PipelineShape shape = apart();
  const GivenCost slow({{1, 1e6, 1e6}});
  auto outcome = serve(shape, slow, alike(1024, 10, 300));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::invalid_argument);
  EXPECT_NE(outcome.error().message.find("at most 9"), std::string::npos)
      << outcome.error().message;
  auto late = alike(2, 10, 3);
  late.back().arrival = 9'000'000 * kPicosPerSecond;
  EXPECT_FALSE(serve(shape, any_cost(), late).ok());
  late.back().arrival -= kPicosPerSecond;
  EXPECT_TRUE(serve(shape, any_cost(), late).ok());
}

TEST(PipelineBadInput, NoRunTakesLongerThanItsBound) {
  const GivenCost cost({{1, 0.4, 0.04}, {4, 1.2, 0.1}});
  for (const std::uint32_t prompts : {0U, 1U, 2U}) {
    for (const std::uint32_t batch : {1U, 3U, 4U}) {
      PipelineShape shape = small_shape();
      shape.prompt = {.pipelines = prompts, .depth = 2, .microbatch = 1};
      shape.token = {.pipelines = 1, .depth = 3, .microbatch = batch};
      shape.stream_overhead = 1.05;
      shape.links = MachineLinks{
          .bytes_per_second = 1e5, .latency = kPicosPerSecond / 100, .activation_bytes = 64};
      std::vector<TraceRequest> requests;
      for (std::uint32_t i = 0; i < 40; ++i) {
        requests.push_back({.prompt_tokens = 10 + i % 7, .output_tokens = 1 + i * 5 % 31});
      }
      const double bound = makespan_bound(shape, cost, requests);
      EXPECT_LE(seconds(must_serve(shape, cost, requests).makespan), bound);
    }
  }
}

TEST(PipelineBadInput, AMachineThatRunsOutOfMemoryIsNamed) {
  PipelineShape shape = apart();
  shape.machine_bytes = 420 + 420 * 2 * 12;  // weights, and two microbatches of 12 tokens
  const auto requests = alike(8, 10, 3);
  EXPECT_TRUE(serve(shape, any_cost(), requests).ok());
  --shape.machine_bytes;
  const Error error = refused(shape, requests);
  EXPECT_EQ(error.code, Code::resource_exhausted);
  EXPECT_NE(error.message.find("stage 0 of pipeline 1 needs 10500 bytes and has 10499"),
            std::string::npos)
      << error.message;
}

TEST(PipelineBadInput, AHostThatNeverHoldsAPromptIsNamed) {
  PipelineShape shape = apart();
  shape.host_bytes = 420 * 10;
  EXPECT_TRUE(serve(shape, any_cost(), alike(8, 10, 3)).ok());
  --shape.host_bytes;
  const Error error = refused(shape, alike(8, 10, 3));
  EXPECT_EQ(error.code, Code::resource_exhausted);
  EXPECT_NE(error.message.find("host_bytes of 4199"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace aqua::sim::test
