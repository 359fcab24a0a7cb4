// SPDX-License-Identifier: Apache-2.0
// Costs fitted to a recorded pipeline, and other runs predicted with them. The "pipeline" recorded
// here is a naive one whose costs are known.
#include <cmath>
#include <nlohmann/json.hpp>
#include <queue>

#include "tests/tools/sim/ground.hpp"
#include "tests/tools/sim/pipeline/equal_requests.hpp"
#include "tools/sim/engine/random.hpp"
#include "tools/sim/pipeline/real/prediction.hpp"

namespace aqua::sim::test {
namespace {

constexpr std::uint32_t kLayers = 5;

StepCosts truth() {
  return {.per_step = 1e-4,
          .per_token = 2e-6,
          .per_layer = 5e-5,
          .per_layer_token = 1e-5,
          .per_layer_pair = 2e-7,
          .hop = 4e-5,
          .turn = 1e-4};
}

std::vector<TraceRequest> lengths(std::size_t count, std::uint32_t prompt, std::uint32_t output,
                                  std::uint64_t seed) {
  Random random(seed);
  std::vector<TraceRequest> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({.prompt_tokens = prompt / 2 + static_cast<std::uint32_t>(random.below(prompt)),
                   .output_tokens = output / 2 + static_cast<std::uint32_t>(random.below(output))});
  }
  return all;
}

// As many requests under way as there are stages, each a step in one stage at a time. Stages serve
// whoever came first.
PipelineRecording record(std::uint32_t stages, std::vector<TraceRequest> requests,
                         const StepCosts& costs, double noise) {
  PipelineRecording made{.engine = "naive", .layers = kLayers, .stages = stages};
  made.requests = std::move(requests);
  struct Step {
    double at = 0;
    std::size_t request = 0;
    std::uint32_t stage = 0, first = 0, tokens = 0;
    bool operator<(const Step& other) const { return at > other.at; }
  };
  std::priority_queue<Step> waiting;
  std::size_t begun = 0;
  const auto begin = [&](double at) {
    if (begun < made.requests.size())
      waiting.push({.at = at, .request = begun, .tokens = made.requests[begun].prompt_tokens});
    ++begun;
  };
  for (std::uint32_t i = 0; i < stages; ++i) begin(0);
  Random random(9);
  std::vector<double> free(stages);
  const auto layers = stages_of(kLayers, stages);
  for (; !waiting.empty();) {
    Step step = waiting.top();
    waiting.pop();
    RecordedStep done{.sequence = step.request,
                      .stage = step.stage,
                      .begin = std::max(step.at, free[step.stage]),
                      .first = step.first,
                      .tokens = step.tokens};
    const double off = static_cast<double>(random.below(2001)) / 1000 - 1;
    done.end =
        done.begin + costs.step(layers[step.stage], step.tokens, done.pairs()) * (1 + noise * off);
    free[step.stage] = done.end;
    made.steps.push_back(done);
    made.makespan_s = std::max(made.makespan_s, done.end);
    const TraceRequest& request = made.requests[step.request];
    const std::uint32_t known = step.first + step.tokens;
    if (step.stage + 1 < stages) {
      step.at = done.end + costs.hop;
      ++step.stage;
      waiting.push(step);
    } else if (known + 1 < request.prompt_tokens + request.output_tokens) {
      waiting.push(
          {.at = done.end + costs.turn, .request = step.request, .first = known, .tokens = 1});
    } else {
      begin(done.end + costs.turn);
    }
  }
  std::ranges::stable_sort(made.steps, {}, &RecordedStep::begin);
  return made;
}

PipelineRecording base(double noise) {
  return record(2, lengths(40, 200, 60, 1), truth(), noise);
}

TEST(StepFit, FindsTheCostsThatMadeTheTimes) {
  const StepFit fit = must(fit_steps(base(0)));
  EXPECT_LT(fit.mean_error, 0.001);
  EXPECT_NEAR(fit.costs.hop / truth().hop, 1, 0.01);
  EXPECT_NEAR(fit.costs.turn / truth().turn, 1, 0.01);
  for (const StageLayers& stage : stages_of(kLayers, 2)) {
    for (const auto& [tokens, pairs] : {std::pair(1.0, 50.0), {1.0, 300.0}, {250.0, 31'375.0}}) {
      EXPECT_NEAR(fit.costs.step(stage, tokens, pairs) / truth().step(stage, tokens, pairs), 1,
                  0.001);
    }
  }
}

TEST(StepFit, SaysHowFarItIsOffOnStepsThatItWasNotFittedTo) {
  const StepFit fit = must(fit_steps(base(0.2)));
  EXPECT_NEAR(fit.mean_error, 0.1, 0.02) << "20 % evenly spread are 10 % in the mean";
  EXPECT_LT(std::abs(fit.sum_error), 0.02);
  EXPECT_EQ(fit.fitted + fit.checked, base(0.2).steps.size());
}

// Five stages of one layer do not say how two layers would do; proportion is the best guess.
TEST(StepFit, OfStagesThatAreAlikeAllCountsByLayers) {
  const StepFit fit = must(fit_steps(record(5, lengths(40, 200, 60, 1), truth(), 0)));
  EXPECT_EQ(fit.costs.per_step, 0);
  EXPECT_EQ(fit.costs.per_token, 0);
  const StageLayers one{.first = 1, .count = 1, .of = kLayers};
  EXPECT_NEAR(fit.costs.step(one, 1, 200) / truth().step(one, 1, 200), 1, 0.001);
}

TEST(StepFit, WantsAHundredStepsAndSomeOfEachStage) {
  PipelineRecording few = base(0);
  few.steps.resize(99);
  EXPECT_EQ(fit_steps(few).error().code, Code::failed_precondition);
  PipelineRecording one_stage = base(0);
  std::erase_if(one_stage.steps, [](const RecordedStep& step) { return step.stage == 1; });
  EXPECT_EQ(fit_steps(one_stage).error().code, Code::failed_precondition);
}

// Fitted to two stages, with noise. Stages of one, two, three and five layers, longer prompts and
// longer answers.
TEST(PipelinePrediction, OfOtherShapesAndLengthsIsWithinAFewPercent) {
  const PipelineRecording fitted_to = base(0.1);
  const StepFit fit = must(fit_steps(fitted_to));
  for (const std::uint32_t stages : {1U, 2U, 3U, 5U}) {
    for (const auto& [prompt, output] : {std::pair(100U, 150U), {400U, 30U}}) {
      const PipelineRecording other = record(stages, lengths(30, prompt, output, 2), truth(), 0.1);
      const PipelinePrediction made = must(predict(fit, fitted_to, other));
      EXPECT_NEAR(made.predicted_s / made.measured_s, 1, 0.04) << stages << " " << prompt;
      ASSERT_EQ(made.predicted_busy_s.size(), stages);
      for (std::uint32_t i = 0; i < stages; ++i)
        EXPECT_NEAR(made.predicted_busy_s[i] / made.measured_busy_s[i], 1, 0.04);
    }
  }
}

TEST(PipelinePrediction, IsOffWhereTheCostsAre) {
  StepCosts slower = truth();
  slower.per_layer_token *= 3;
  const PipelineRecording fitted_to = record(2, lengths(40, 200, 60, 1), slower, 0);
  const PipelinePrediction made = must(predict(must(fit_steps(fitted_to)), fitted_to, base(0)));
  EXPECT_GT(made.predicted_s, 1.3 * made.measured_s);
}

// What is lost by one is its time, and what is computed again.
TEST(PipelinePrediction, OutagesLastAsLongAsThoseThatWereSeen) {
  PipelineRecording seen = base(0);
  seen.outages = {{.stage = 0, .noticed = 1e5, .resumed = 1e5 + 2},
                  {.stage = 1, .noticed = 2e5, .resumed = 2e5 + 4}};
  const StepFit fit = must(fit_steps(seen));
  EXPECT_DOUBLE_EQ(fit.costs.outage, 3);
  EXPECT_EQ(fit.outages, 2U);
  PipelineRecording other = base(0);
  const double without = must(predict(fit, seen, other)).predicted_s;
  other.outages = {{.stage = 1, .noticed = without / 2, .resumed = without / 2 + 9}};
  const double reprefilled = must(predict(fit, seen, other)).predicted_s;
  EXPECT_GT(reprefilled, without + 3);
  EXPECT_LT(reprefilled, without + 3.1);
  other.recovery = Recovery::scratch;
  EXPECT_GT(must(predict(fit, seen, other)).predicted_s, reprefilled);
}

TEST(PipelinePrediction, WhatWasNeverSeenIsNotPredicted) {
  const PipelineRecording fitted_to = base(0);
  const StepFit fit = must(fit_steps(fitted_to));
  const auto refused = [&](auto change, std::string_view word) {
    PipelineRecording other = base(0);
    change(other);
    const auto made = predict(fit, fitted_to, other);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::failed_precondition);
    EXPECT_NE(made.error().message.find(word), std::string::npos) << made.error().message;
  };
  refused([](PipelineRecording& other) { other.outages.push_back({}); }, "outages");
  refused([](PipelineRecording& other) { other.layers = 6; }, "6 layers");
  refused([](PipelineRecording& other) { other.recovery = Recovery::restore; }, "replicated");
}

TEST(PipelinePrediction, TimesThatNoRunMayTakeAreRefused) {
  const PipelineRecording fitted_to = base(0);
  StepFit fit = must(fit_steps(fitted_to));
  fit.costs.per_layer_pair = 1e9;
  EXPECT_EQ(predict(fit, fitted_to, base(0)).error().code, Code::invalid_argument);
}

nlohmann::json good() {
  return {{"format", kPipelineRecording},
          {"engine", "made up"},
          {"layers", 3},
          {"stages", 2},
          {"recovery", "restore"},
          {"makespan_s", 1.5},
          {"requests", {{5, 2}, {6, 3}}},
          {"steps", {{0, 0, 0.1, 0.2, 0, 5}, {0, 1, 0.2, 0.3, 0, 5}, {0, 0, 0.4, 0.5, 5, 1}}},
          {"outages", {{1, 0.6, 0.7}}}};
}

TEST(PipelineRecordingFile, IsReadWhole) {
  const PipelineRecording made = must(parse_pipeline_recording(good().dump()));
  EXPECT_EQ(made.recovery, Recovery::restore);
  ASSERT_EQ(made.requests.size(), 2U);
  EXPECT_EQ(made.requests[1].output_tokens, 3U);
  ASSERT_EQ(made.steps.size(), 3U);
  EXPECT_DOUBLE_EQ(made.steps[0].pairs(), 15);
  EXPECT_DOUBLE_EQ(made.steps[2].pairs(), 6);
  EXPECT_EQ(made.outages.at(0).stage, 1U);
}

TEST(PipelineRecordingFile, WhatCannotBeIsNamed) {
  using nlohmann::json;
  const std::vector<std::pair<const char*, json>> wrong{
      {"format", "aqua-recording-1"},
      {"layers", 0},
      {"stages", 4},
      {"recovery", "luck"},
      {"makespan_s", 0},
      {"requests", {{5, 2}}},
      {"requests", {{5, 2}, {0, 3}}},
      {"requests", {{5, 2}, {1.5, 3}}},
      {"steps", {{0, 2, 0.1, 0.2, 0, 5}}},
      {"steps", {{0, 0, 0.2, 0.1, 0, 5}}},
      {"steps", {{0, 0, 0.1, 0.3, 0, 5}, {1, 0, 0.2, 0.4, 0, 5}}},
      {"steps", {{0, 0, 0.1, 0.2, 0, 0}}},
      {"outages", {{2, 0.6, 0.7}}},
      {"outages", {{1, 0.7, 0.6}}},
      {"more", 1}};
  for (const auto& [key, value] : wrong) {
    json changed = good();
    changed[key] = value;
    const auto made = parse_pipeline_recording(changed.dump());
    ASSERT_FALSE(made.ok()) << changed;
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    EXPECT_NE(made.error().message.find(key), std::string::npos) << made.error().message;
  }
  for (const char* key : {"format", "engine", "layers", "stages", "recovery", "makespan_s",
                          "requests", "steps", "outages"}) {
    json without = good();
    without.erase(key);
    EXPECT_FALSE(parse_pipeline_recording(without.dump()).ok()) << key;
  }
}

}  // namespace
}  // namespace aqua::sim::test
