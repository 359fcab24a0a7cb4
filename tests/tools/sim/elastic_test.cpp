// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/lending/elastic.hpp"

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

Ground ground_for(const char* model) {
  Scenario scenario;
  scenario.model = must(load_model(model));
  scenario.server = must(load_server("a100"));
  return must(resolve(scenario, {}));
}

// Long prompts beside the closed forms: serial, fetch + compute of each layer; overlapped, the
// longer of the two.
TEST(LongPrompt, TakesWhatTheClosedFormsSay) {
  const Ground ground = ground_for("opt-30b");
  for (const Tier tier : {Tier::peer, Tier::host}) {
    for (const bool overlapped : {false, true}) {
      for (const std::uint32_t prompt : {256u, 2048u, 8192u}) {
        const auto outcome = long_prompt(ground, {.prompt_tokens = prompt, .tokens = 400}, tier,
                                         overlapped, PagingMethod::gathered);
        EXPECT_NEAR(outcome.tokens_per_second / outcome.closed_form, 1, 0.01)
            << to_string(tier) << " " << overlapped << " " << prompt;
      }
    }
  }
}

TEST(LongPrompt, IsFasterFromThePeerThanFromTheHostAndNeverFasterThanWithoutFetching) {
  const Ground ground = ground_for("opt-30b");
  const auto speed = [&](Tier tier) {
    return long_prompt(ground, {}, tier, true, PagingMethod::gathered).tokens_per_second;
  };
  EXPECT_GT(speed(Tier::peer), 2 * speed(Tier::host));
  EXPECT_GE(speed(Tier::local), speed(Tier::peer));
}

TEST(Elastic, TheLenderTakesItsMemoryBackInTheSurgeAndTheBorrowerGoesOn) {
  const Ground lender = ground_for("llama-3-8b"), borrower = ground_for("opt-30b");
  const Trace trace = mixed_trace(500);
  const ElasticShape shape{.per_second = 3};
  const ElasticOutcome outcome = must(elastic(lender, borrower, trace, shape, 1));
  EXPECT_GE(outcome.offers, 2u);
  EXPECT_GE(outcome.reclaims, 1u);
  EXPECT_GT(outcome.bytes_moved, 1e9);
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t s = from; s < to; ++s) sum += outcome.tokens_per_second[s];
    return sum / static_cast<double>(to - from);
  };
  const double before = mean(100, 118), during = mean(150, 178), after = mean(270, 298);
  EXPECT_LT(during, before / 2);
  EXPECT_GT(during, 0.5);  // it never stops
  EXPECT_NEAR(after / before, 1, 0.1);
  EXPECT_EQ(outcome.lending.completed, outcome.alone.completed);
  EXPECT_GE(outcome.lending.tpot_mean_s, outcome.alone.tpot_mean_s);
}

}  // namespace
}  // namespace aqua::sim::test
