// SPDX-License-Identifier: Apache-2.0
// Costs fitted to a recorded run, and another run predicted with them. The "engine" recorded here
// is the simulator with costs that are known.
#include <cmath>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/cost/least_squares.hpp"
#include "tools/sim/cost/prediction.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/random.hpp"
#include "tools/sim/engine/world.hpp"

namespace aqua::sim::test {
namespace {

// 8 ms an iteration, 2 ms a token, 1 ms a row, 3 us a KV token, 2 us a pair, 0.3 us a pair of any
// two, in steps of 64 KV tokens.
CostFit truth() {
  CostFit fit{.points = {1, 128}, .seconds = {0.010, 0.008 + 128 * 0.002}};
  fit.per_row_s = 1e-3;
  fit.per_kv_token_s = 3e-6;
  fit.per_pair_s = 2e-6;
  fit.per_any_pair_s = 3e-7;
  fit.kv_step_tokens = 64;
  fit.out = {.latency_s = 1e-3, .per_byte_s = 1e-9};
  fit.in = {.latency_s = 5e-4, .per_byte_s = 5e-10};
  return fit;
}

schedule::SchedulerOptions options() {
  return {.budget_tokens = 128,
          .slice_iterations = 16,
          .min_prefill_tokens = 32,
          .device_blocks = 48,
          .fcfs_on_slow_tier = false,
          .swap_tier = Tier::host};
}

// Iterations and copies as a policy makes them, each timed by the truth, give or take `noise`.
std::vector<RecordedIteration> iterations(std::size_t count, double noise) {
  Random random(3);
  std::vector<RecordedIteration> all;
  const CostFit costs = truth();
  for (std::size_t i = 0; i < count; ++i) {
    const auto decodes = static_cast<double>(random.below(12));
    const auto chunk = static_cast<double>(i % 3 == 0 ? 1 + random.below(100) : 0);
    if (decodes + chunk < 1) continue;
    const auto past = static_cast<double>(random.below(300));
    RecordedIteration one{.tokens = decodes + chunk,
                          .rows = decodes + (i % 2 == 0 && chunk > 0 ? 1 : 0),
                          .kv_tokens = decodes * (50 + static_cast<double>(random.below(400))),
                          .pairs = chunk * (past + (chunk + 1) / 2)};
    one.batch_kv = one.kv_tokens + (chunk > 0 ? past + chunk : 0);
    const double off = static_cast<double>(random.below(2001)) / 1000 - 1;
    one.seconds = costs.iteration(one) * (1 + noise * off);
    all.push_back(one);
  }
  return all;
}

Recording recording(const std::string& policy, double per_second, std::uint64_t seed,
                    const CostFit& costs) {
  Recording made{.engine = "made up",
                 .policy = policy,
                 .scheduler = options(),
                 .kv_bytes_per_token = 20'000,
                 .kv_step_tokens = 64};
  const Workload work =
      must(poisson(mixed_trace(60), {.requests = 60, .per_second = per_second}, seed));
  for (const TraceRequest& request : work.requests) {
    made.requests.push_back({.arrival = request.arrival,
                             .prompt_tokens = 1 + request.prompt_tokens / 8,
                             .output_tokens = 1 + request.output_tokens / 8});
  }
  const auto scheduler = must(schedule::make_scheduler(policy, made.scheduler));
  const CostModel cost = CostModel::fitted(costs, 128);
  const Workload asked = made.workload();
  Network network;
  SwapSpace swap(nullptr);
  RequestTable table(asked);
  Engine engine(
      table, cost, *scheduler, swap, network, nullptr,
      {.paging = {.method = PagingMethod::stopping, .stop_out = costs.out, .stop_in = costs.in},
       .kv_bytes_per_token = made.kv_bytes_per_token});
  Arrivals arrivals(asked, engine);
  EXPECT_TRUE(run_world(network, {&arrivals, &engine}));
  made.requests = std::move(engine).outcome().requests;
  made.iterations = iterations(600, 0.1);
  for (int i = 1; i <= 20; ++i) {
    const double bytes = 1e5 * i;
    made.copies.push_back({costs.out.seconds(bytes), bytes, true});
    made.copies.push_back({costs.in.seconds(bytes), bytes, false});
  }
  return made;
}

TEST(LeastSquares, FindsTheMinimumAndNothingNegative) {
  LeastSquares free(2), bound(2);
  for (const double x : {1.0, 2.0, 5.0}) {
    free.add({1, x}, 3 + 2 * x);
    bound.add({1, x}, 1 - 2 * x + (x > 4 ? 12 : 0));
  }
  const std::vector<double> exact = free.solve();
  EXPECT_NEAR(exact[0], 3, 1e-6);
  EXPECT_NEAR(exact[1], 2, 1e-6);
  for (const double x : bound.solve()) EXPECT_GE(x, 0);
  EXPECT_EQ(LeastSquares(2).solve(), (std::vector<double>{0, 0})) << "nothing was said";
}

TEST(CostFit, FindsTheCostsThatMadeTheTimes) {
  Recording made = recording("cfs", 1, 1, truth());
  made.iterations = iterations(600, 0);
  const CostFitReport report = must(fit_costs(made));
  const CostFit costs = truth();
  EXPECT_LT(report.mean_error, 0.005);
  for (const double tokens : {1.0, 5.0, 60.0, 110.0}) {
    EXPECT_NEAR(report.fit.linear(tokens) / costs.linear(tokens), 1, 0.03) << tokens;
  }
  EXPECT_NEAR(report.fit.per_row_s / costs.per_row_s, 1, 0.1);
  EXPECT_NEAR(report.fit.per_kv_token_s / costs.per_kv_token_s, 1, 0.05);
  EXPECT_NEAR(report.fit.per_pair_s / costs.per_pair_s, 1, 0.05);
  EXPECT_NEAR(report.fit.per_any_pair_s / costs.per_any_pair_s, 1, 0.05);
  EXPECT_NEAR(report.fit.out.seconds(1e6), costs.out.seconds(1e6), 1e-6);
  EXPECT_NEAR(report.fit.in.seconds(1e6), costs.in.seconds(1e6), 1e-6);
  EXPECT_EQ(report.copies_out + report.copies_in, made.copies.size());
}

// By hand: prompts of 4 and 6 tokens come at once and get two tokens each. Ten tokens are computed
// with ten, then two with (4 + 1) + (6 + 1).
TEST(CostFit, PairsOfAnyTwoAreOfTheWholeBatch) {
  CostFit only{.points = {1, 128}, .seconds = {0.001, 0.001}};
  only.per_any_pair_s = 1e-5;
  Recording made{.engine = "", .policy = "fcfs", .scheduler = options(), .kv_bytes_per_token = 1};
  for (const std::uint32_t prompt : {4U, 6U})
    made.requests.push_back({.prompt_tokens = prompt, .output_tokens = 2});
  const Metrics said = must(predict(only, made)).predicted;
  EXPECT_NEAR(said.ttft_mean_s, 0.001 + 100e-5, 1e-9);
  EXPECT_NEAR(said.makespan_s, 0.002 + 124e-5, 1e-9);
  // One by itself, as prompt_alone() says.
  made.requests.pop_back();
  EXPECT_NEAR(must(predict(only, made)).predicted.makespan_s,
              seconds(CostModel::fitted(only, 128).prompt_alone(4, 2)), 1e-12);
  EXPECT_NEAR(seconds(CostModel::fitted(only, 128).prompt_alone(4, 2)), 0.002 + 21e-5, 1e-9);
  // In steps of 3 KV tokens, 4 are 6 and so are 5.
  only.kv_step_tokens = 3;
  EXPECT_NEAR(must(predict(only, made)).predicted.makespan_s, 0.002 + 30e-5, 1e-9);
}

TEST(CostFit, SaysHowFarItIsOffOnIterationsThatItWasNotFittedTo) {
  const CostFitReport report = must(fit_costs(recording("cfs", 1, 1, truth())));
  EXPECT_NEAR(report.mean_error, 0.05, 0.01) << "10 % evenly spread are 5 % in the mean";
  EXPECT_LT(std::abs(report.sum_error), 0.02);
  EXPECT_EQ(report.fitted + report.checked, recording("cfs", 1, 1, truth()).iterations.size());
  Recording few = recording("cfs", 1, 1, truth());
  few.iterations.resize(50);
  EXPECT_EQ(fit_costs(few).error().code, Code::failed_precondition);
}

// An engine that is held up now and then is as slow as it is in the mean.
TEST(CostFit, NoiseDoesNotMakeItTooLow) {
  Recording noisy = recording("cfs", 1, 1, truth());
  noisy.iterations = iterations(6000, 0.6);
  const CostFitReport report = must(fit_costs(noisy));
  EXPECT_GT(report.mean_error, 0.2);
  EXPECT_LT(std::abs(report.sum_error), 0.03);
}

TEST(CostFit, StaysFiniteWhateverTheClockSaid) {
  Recording made = recording("cfs", 1, 1, truth());
  for (std::size_t i = 0; i < made.iterations.size(); i += 3) {
    made.iterations[i].seconds = i % 2 == 0 ? 0 : 1e-300;
  }
  const CostFit fit = must(fit_costs(made)).fit;
  for (const double seconds : fit.seconds) EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0);
  EXPECT_TRUE(
      std::isfinite(fit.per_row_s + fit.per_kv_token_s + fit.per_pair_s + fit.per_any_pair_s));
}

// Another policy, another rate, other lengths in another order; times were recorded with 10 %
// noise.
TEST(Prediction, OfAnotherWorkloadIsWithinAFewPercent) {
  const CostFitReport fitted = must(fit_costs(recording("cfs", 1, 1, truth())));
  for (const char* policy : {"fcfs", "cfs", "vtc"}) {
    const Recording other = recording(policy, 1.4, 2, truth());
    const Prediction prediction = must(predict(fitted.fit, other));
    const Metrics &was = prediction.measured, &said = prediction.predicted;
    EXPECT_NEAR(said.ttft_mean_s / was.ttft_mean_s, 1, 0.05) << policy;
    EXPECT_NEAR(said.ttft_p99_s / was.ttft_p99_s, 1, 0.05) << policy;
    EXPECT_NEAR(said.tpot_mean_s / was.tpot_mean_s, 1, 0.05) << policy;
  }
}

// An engine that is half as fast again is not taken for this one.
TEST(Prediction, IsOffWhereTheCostsAre) {
  CostFit slower = truth();
  for (double& seconds : slower.seconds) seconds *= 1.5;
  const Prediction prediction = must(predict(slower, recording("fcfs", 1, 2, truth())));
  EXPECT_GT(prediction.predicted.tpot_mean_s, 1.2 * prediction.measured.tpot_mean_s);
}

// One prompt after another: what an iteration takes is what its requests take. With a queue a wait
// changes by more.
TEST(Prediction, SaysHowMuchHangsOnTheEnginesSpeed) {
  const Prediction alone = must(predict(truth(), recording("fcfs", 0.01, 1, truth())));
  EXPECT_NEAR(sensitivity(alone, &Metrics::tpot_mean_s), 1, 0.05);
  EXPECT_NEAR(sensitivity(alone, &Metrics::makespan_s), 0, 0.05);
  const Prediction queued = must(predict(truth(), recording("fcfs", 1.4, 2, truth())));
  EXPECT_GT(sensitivity(queued, &Metrics::ttft_mean_s), 1.5);
}

// Copies stop the engine: the same requests take as much longer.
TEST(Prediction, CopiesOfAnEngineThatStopsForThemCostTime) {
  CostFit costs = truth();
  const Recording made = recording("cfs", 3, 2, costs);
  costs.out.latency_s = costs.in.latency_s = 0.5;
  const Prediction prediction = must(predict(costs, made));
  EXPECT_GT(prediction.predicted.latency_mean_s, 1.1 * prediction.measured.latency_mean_s);
}

const char* const small = R"({"format": "aqua-recording-1", "engine": "e", "policy": "cfs",
  "scheduler": {"budget_tokens": 8, "slice_iterations": 4, "min_prefill_tokens": 2,
                "block_tokens": 4, "device_blocks": 10, "max_sequences": 0},
  "kv_bytes_per_token": 100, "kv_step_tokens": 8, "requests": [[0.5, 3, 2, 1.5, 2.5]],
  "iterations": [[0.01, 3, 1, 0, 6, 3]], "copies": [[0.001, 400, 1]]})";

TEST(Recording, IsReadAndWhatCannotBeIsNamed) {
  const Recording read = must(parse_recording(small));
  EXPECT_EQ(read.scheduler.device_blocks, 10U);
  EXPECT_EQ(read.requests.at(0).first_token, picos(1.5));
  EXPECT_EQ(read.iterations.at(0).pairs, 6);
  EXPECT_EQ(read.iterations.at(0).batch_kv, 3);
  EXPECT_EQ(read.kv_step_tokens, 8U);
  EXPECT_TRUE(read.copies.at(0).out);
  const auto refused = [](std::string from, const std::string& part, const std::string& by) {
    from.replace(from.find(part), part.size(), by);
    const auto parsed = parse_recording(from);
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
    return parsed.error().message;
  };
  EXPECT_NE(refused(small, "recording-1", "recording-2").find("format"), std::string::npos);
  EXPECT_NE(refused(small, "1.5, 2.5", "1.5, 1.0").find("order"), std::string::npos);
  EXPECT_NE(refused(small, "0.5, 3, 2", "0.5, 3.5, 2").find("whole"), std::string::npos);
  EXPECT_NE(refused(small, "2.5]", "2e6]").find("requests row 0"), std::string::npos);
  EXPECT_NE(refused(small, "[0.01, 3", "[\"x\", 3").find("iterations row 0"), std::string::npos);
  EXPECT_NE(refused(small, "[0.01, 3", "[2e6, 3").find("lasts"), std::string::npos);
  EXPECT_NE(refused(small, "\"block_tokens\": 4", "\"block_tokens\": 0").find("block_tokens"),
            std::string::npos);
  EXPECT_NE(refused(small, "\"engine\"", "\"engin\"").find("engine"), std::string::npos);
  EXPECT_EQ(parse_recording("{").error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::sim::test
