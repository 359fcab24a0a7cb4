// SPDX-License-Identifier: Apache-2.0
// What a pass costs a stage: all stages together cost what the model costs as one.
#include "tools/sim/pipeline/pass.hpp"

#include <gtest/gtest.h>

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

TEST(PassCost, StagesTogetherCostWhatTheModelDoesAsOne) {
  const ModelSpec model = must(load_model("opt-66b"));
  const CostModel cost = must(CostModel::build(model, must(load_server("a100x2")),
                                               {.tensor_parallel = 2, .max_batch_tokens = 4096}));
  const ModelledCost modelled(cost);
  const Pass pass{.prompts = 2,
                  .prompt_tokens = 2000,
                  .prompt_attention = 2 * modelled.prompt_attention(1000, 0),
                  .first_tokens = 2,
                  .decodes = 14,
                  .kv_tokens = 14'000};
  const Picos one = modelled.stage_time(pass, {.first = 0, .count = 64, .of = 64});
  // A chunked iteration of the engine's simulator, by its own sum.
  EXPECT_EQ(one, cost.linear(2014) + cost.head(16) + pass.prompt_attention +
                     cost.decode_attention_per_token() * 14'000);
  for (const std::uint32_t depth : {2U, 3U, 7U, 64U}) {
    Picos sum = 0;
    std::uint32_t layers = 0;
    for (const StageLayers& stage : stages_of(64, depth)) {
      EXPECT_EQ(stage.first, layers);
      layers += stage.count;
      sum += modelled.stage_time(pass, stage);
    }
    EXPECT_EQ(layers, 64U);
    EXPECT_NEAR(seconds(sum), seconds(one), 1e-9) << depth;
  }
}

TEST(PassCost, MoreThanTheLargestBatchIsComputedInSeveral) {
  const CostModel cost =
      must(CostModel::build(must(load_model("opt-13b")), must(load_server("a100x2")),
                            {.tensor_parallel = 2, .max_batch_tokens = 512}));
  const ModelledCost modelled(cost);
  const StageLayers all{.first = 0, .count = 40, .of = 40};
  EXPECT_EQ(modelled.stage_time({.prompts = 3, .prompt_tokens = 1300}, all),
            2 * cost.linear(512) + cost.linear(1300 - 1024));
}

TEST(PassCost, GivenTimesAreStraightLinesBetweenSizes) {
  const GivenCost cost({{4, 8, 0.4}, {8, 12, 0.6}});
  const StageLayers half{.first = 0, .count = 5, .of = 10};
  EXPECT_EQ(cost.stage_time({.prompts = 4}, half), picos(4));
  EXPECT_EQ(cost.stage_time({.prompts = 6}, half), picos(5));
  EXPECT_EQ(cost.stage_time({.prompts = 1}, half), picos(1));
  EXPECT_EQ(cost.stage_time({.decodes = 16}, half), picos(0.6));
  EXPECT_EQ(cost.stage_time({.prompts = 4, .decodes = 8}, half), picos(4.3));
}

}  // namespace
}  // namespace aqua::sim::test
