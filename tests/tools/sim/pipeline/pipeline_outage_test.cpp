// SPDX-License-Identifier: Apache-2.0
// Stages that fail: no user loses a token or gets one twice, and recoveries cost what they must.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/tools/sim/ground.hpp"
#include "tests/tools/sim/pipeline/equal_requests.hpp"
#include "tools/sim/pipeline/outage_times.hpp"
#include "tools/sim/pipeline/planning.hpp"

namespace aqua::sim::test {
namespace {

constexpr std::array kRecoveries{Recovery::scratch, Recovery::reprefill, Recovery::restore,
                                 Recovery::restore_standby};
constexpr Picos kSecond = kPicosPerSecond;

const GivenCost& stage_second() {
  static const GivenCost cost({{1, 4, 4}});  // a second on each of four stages, prompt or token
  return cost;
}

PipelineShape four_stages() {
  PipelineShape shape = small_shape();
  shape.token = {.pipelines = 1, .depth = 4, .microbatch = 1};
  shape.recovery_times = {.detection = 5 * kSecond, .restart = 7 * kSecond, .weights = 8 * kSecond};
  return shape;
}

Picos makespan(PipelineShape shape, Recovery recovery, std::vector<Outage> outages) {
  shape.recovery = recovery;
  shape.outages = std::move(outages);
  return must_serve(shape, stage_second(), alike(4, 10, 10)).makespan;
}

// Four microbatches of ten passes: the k-th pass of the i-th leaves at 4k + i - 1 s.
TEST(PipelineOutage, EachRecoveryCostsWhatItLosesToThePicosecond) {
  const PipelineShape shape = four_stages();
  ASSERT_EQ(makespan(shape, Recovery::restore, {}), 43 * kSecond);
  // After 22 s they have passed 5, 5, 5 and 4 times; 5, 5, 5 and 6 passes are left, and go in at
  // 42 s: the fourth leaves last, at 42 + 24 + 3.
  const std::vector<Outage> one{{.at = 22 * kSecond + kSecond / 2, .pipeline = 0, .stage = 2}};
  const Picos late = kSecond / 2;
  EXPECT_EQ(makespan(shape, Recovery::restore, one), late + (22 + 20 + 24 + 3) * kSecond);
  EXPECT_EQ(makespan(shape, Recovery::restore_standby, one), late + (22 + 5 + 24 + 3) * kSecond);
  EXPECT_EQ(makespan(shape, Recovery::scratch, one), late + (22 + 20 + 40 + 3) * kSecond);
  // One pass for the KV gives the next token as well, whatever its length by these costs.
  EXPECT_EQ(makespan(shape, Recovery::reprefill, one), makespan(shape, Recovery::restore, one));
}

// Six stages were done of the four passes that are lost, and four half done.
TEST(PipelineOutage, StagesAreBusyOnlyAsLongAsTheyCompute) {
  PipelineShape shape = four_stages();
  shape.recovery = Recovery::restore;
  shape.outages = {{.at = 22 * kSecond + kSecond / 2, .pipeline = 0, .stage = 2}};
  shape.timeline = true;
  const PipelineOutcome outcome = must_serve(shape, stage_second(), alike(4, 10, 10));
  Picos busy = 0, spans = 0;
  for (const MachineUse& machine : outcome.machines) busy += machine.busy;
  for (const StageSpan& span : outcome.spans) spans += span.end - span.begin;
  EXPECT_EQ(busy, (160 + 6 + 2) * kSecond);
  EXPECT_EQ(spans, busy);
}

TEST(PipelineOutage, OtherPipelinesGoOnAndTakeWhatWaits) {
  PipelineShape shape = four_stages();
  shape.token.pipelines = 2;
  shape.recovery = Recovery::restore;
  const auto requests = alike(40, 10, 10);
  const Picos none = must_serve(shape, stage_second(), requests).makespan;
  shape.outages = {{.at = 10 * kSecond, .pipeline = 1, .stage = 0}};
  const PipelineOutcome outcome = must_serve(shape, stage_second(), requests);
  EXPECT_EQ(outcome.down, 20 * kSecond);
  EXPECT_GT(outcome.makespan, none);
  EXPECT_LE(outcome.makespan, none + 40 * kSecond);
}

TEST(PipelineOutage, EveryTokenIsGivenOnceHoweverOftenStagesFail) {
  for (const Recovery recovery : kRecoveries) {
    for (const bool links : {false, true}) {
      for (const Ending ending : {Ending::together, Ending::refill}) {
        PipelineShape shape = four_stages();
        shape.token = {.pipelines = 2, .depth = 4, .microbatch = 3};
        shape.ending = ending;
        shape.recovery = recovery;
        if (links) {
          shape.links = MachineLinks{
              .bytes_per_second = 1e4, .latency = kSecond / 100, .activation_bytes = 10};
        }
        for (std::uint32_t i = 0; i < 6; ++i) {
          shape.outages.push_back(
              {.at = (13 * i + 1) * kSecond, .pipeline = i % 2, .stage = i % 4});
        }
        shape.outage_rate = {.mean_seconds = 200, .seed = 3};
        auto requests = alike(30, 10, 12);
        for (std::size_t i = 0; i < requests.size(); ++i) {
          requests[i].output_tokens = static_cast<std::uint32_t>(1 + i % 12);
        }
        std::uint64_t tokens = 0;
        for (const TraceRequest& request : requests) tokens += request.output_tokens;
        const PipelineOutcome outcome = must_serve(shape, stage_second(), requests);
        EXPECT_EQ(outcome.output_tokens, tokens);
        EXPECT_GT(outcome.outages, 6U) << "some by chance as well";
        for (const RequestOutcome& request : outcome.requests) {
          EXPECT_NE(request.finish, kNever);
          EXPECT_LE(request.first_token, request.finish);
        }
        for (const MachineUse& machine : outcome.machines) {
          EXPECT_LE(machine.busy, outcome.makespan);
          EXPECT_GT(machine.busy, 0);
        }
      }
    }
  }
}

// The paper's Figure 14 with our times: prompts of 500, 1000 tokens, a stage that fails 700 tokens
// into the answer. It has 1.91 from scratch and 1.24 with replicas.
TEST(PipelineOutage, RestoringCostsLessThanComputingAgainAndThatLessThanBeginningAnew) {
  const MachineGround ground =
      must(machine_ground(must(load_model("opt-66b")), must(load_server("a100x2")), {}));
  const ModelledCost cost(ground.cost);
  const auto requests = alike(64, 500, 1000);
  const auto input = plan_input(ground, lengths_of(requests), 4, {16});
  PipelineShape shape;
  take_input(shape, input);
  shape.token = {.pipelines = 1, .depth = 4, .microbatch = 16};
  shape.links = ground.links;
  const PipelineOutcome none = must_serve(shape, cost, requests);
  shape.recovery_times = {
      .detection = 2 * kSecond, .restart = 10 * kSecond, .weights = 8 * kSecond};
  shape.outages = {{.at = none.makespan * 7 / 10, .pipeline = 0, .stage = 1}};
  double before = 3;
  for (const Recovery recovery : kRecoveries) {
    shape.recovery = recovery;
    const Picos with = must_serve(shape, cost, requests).makespan;
    const double times = static_cast<double>(with) / static_cast<double>(none.makespan);
    EXPECT_LT(times, before);
    EXPECT_GT(times, 1);
    before = times;
    RecordProperty(std::to_string(static_cast<int>(recovery)), std::to_string(times));
  }
}

// Failures of each machine until `end`, in seconds.
std::vector<std::vector<double>> failures_until(double end, PipelineShape shape, OutageRate rate) {
  shape.outage_rate = rate;
  std::vector<std::vector<double>> machines(shape.machines());
  OutageTimes times(shape);
  for (Picos before = 0; times.next() < picos(end);) {
    const Picos at = times.next();
    const Outage outage = times.take();
    EXPECT_EQ(outage.at, at);
    EXPECT_GE(at, before);
    before = at;
    machines[outage.pipeline * shape.token.depth + outage.stage].push_back(seconds(at));
  }
  return machines;
}

TEST(PipelineOutage, MachinesFailByChanceAsOftenAsTheRateSaysEachForItself) {
  PipelineShape shape = four_stages();
  shape.token = {.pipelines = 2, .depth = 4, .microbatch = 1};
  const OutageRate rate{.mean_seconds = 100, .seed = 1};
  const auto machines = failures_until(100'000, shape, rate);
  for (const auto& failures : machines) {
    // The failures are those of a Poisson process: 1000 in the mean, with a deviation of 32; gaps
    // deviate by their mean.
    EXPECT_NEAR(static_cast<double>(failures.size()), 1000, 4 * 32);
    double squares = 0;
    for (std::size_t i = 1; i < failures.size(); ++i) {
      squares += (failures[i] - failures[i - 1] - 100) * (failures[i] - failures[i - 1] - 100);
    }
    EXPECT_NEAR(squares / static_cast<double>(failures.size()), 100 * 100, 2500);
  }
  EXPECT_NE(machines[0], machines[1]);
  EXPECT_NE(machines, failures_until(100'000, shape, {.mean_seconds = 100, .seed = 2}));
  // The same machines fail at the same times, whatever pipelines they are.
  shape.token = {.pipelines = 8, .depth = 1, .microbatch = 1};
  EXPECT_EQ(machines, failures_until(100'000, shape, rate));
}

TEST(PipelineOutage, NamedOutagesStandBesideThoseByChance) {
  PipelineShape shape = four_stages();
  shape.outage_rate = {.mean_seconds = 100, .seed = 1};
  shape.outages = {{.at = 0, .pipeline = 0, .stage = 3},
                   {.at = kSecond, .pipeline = 0, .stage = 2},
                   {.at = 1000 * kSecond, .pipeline = 0, .stage = 1}};
  OutageTimes times(shape);
  std::vector<Outage> named;
  std::size_t by_chance = 0;
  while (times.next() <= 2000 * kSecond) {
    const Outage outage = times.take();
    const bool known = std::ranges::find(shape.outages, outage) != shape.outages.end();
    if (known) named.push_back(outage);
    by_chance += known ? 0 : 1;
  }
  EXPECT_EQ(named, shape.outages);
  EXPECT_GT(by_chance, 20U);
  shape.outage_rate.reset();
  OutageTimes alone(shape);
  for (int i = 0; i < 3; ++i) (void)alone.take();
  EXPECT_EQ(alone.next(), kNever);
}

TEST(PipelineOutage, FailuresByChanceAreThoseOfTheSeedAndTheMoreTheLonger) {
  PipelineShape shape = four_stages();
  shape.recovery = Recovery::restore;
  const auto requests = alike(100, 10, 20);
  const Picos none = must_serve(shape, stage_second(), requests).makespan;
  Picos before = none;
  for (const double mean : {1000.0, 200.0}) {
    shape.outage_rate = {.mean_seconds = mean, .seed = 1};
    const PipelineOutcome outcome = must_serve(shape, stage_second(), requests);
    EXPECT_GT(outcome.makespan, before);
    // Each costs 20 s, and at most all of the pass that was under way in each stage.
    EXPECT_LE(outcome.makespan, none + static_cast<Picos>(outcome.outages) * 24 * kSecond);
    EXPECT_EQ(outcome.makespan, must_serve(shape, stage_second(), requests).makespan);
    before = outcome.makespan;
  }
  shape.outage_rate->seed = 2;
  EXPECT_NE(must_serve(shape, stage_second(), requests).makespan, before);
}

// A pipeline is never up for long enough to compute anything.
TEST(PipelineOutage, MachinesThatFailTooOftenAreNamedAndEndTheRun) {
  PipelineShape shape = four_stages();
  shape.outage_rate = {.mean_seconds = 1, .seed = 1};
  const auto outcome = serve(shape, stage_second(), alike(4, 10, 10));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::resource_exhausted);
  EXPECT_NE(outcome.error().message.find("fail too often"), std::string::npos);
  EXPECT_NE(outcome.error().message.find("0 of 4 requests"), std::string::npos);
}

TEST(PipelineOutage, ARateThatCannotBeIsNamed) {
  PipelineShape shape = four_stages();
  const auto error = [&] {
    const auto outcome = serve(shape, stage_second(), alike(4, 10, 3));
    EXPECT_FALSE(outcome.ok());
    if (outcome.ok()) return std::string();
    EXPECT_EQ(outcome.error().code, Code::invalid_argument);
    return outcome.error().message;
  };
  for (const double mean : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    shape.outage_rate = {.mean_seconds = mean};
    EXPECT_NE(error().find("in the mean: a number above 0"), std::string::npos) << mean;
  }
  shape.outage_rate = {.mean_seconds = 100};
  shape.prompt = {.pipelines = 1, .depth = 1, .microbatch = 1};
  EXPECT_NE(error().find("prompts and tokens"), std::string::npos);
}

TEST(PipelineOutage, AnOutageOfAStageThatIsNotThereIsNamed) {
  PipelineShape shape = four_stages();
  shape.outages = {{.at = 0, .pipeline = 0, .stage = 4}};
  const auto error = [&] { return serve(shape, stage_second(), alike(4, 10, 3)).error().message; };
  EXPECT_NE(error().find("stage 4 of pipeline 0: there are 1 of 4 stages"), std::string::npos);
  shape.outages = {{.at = 2, .pipeline = 0, .stage = 1}, {.at = 1, .pipeline = 0, .stage = 1}};
  EXPECT_NE(error().find("order of time"), std::string::npos);
  shape.prompt = {.pipelines = 1, .depth = 1, .microbatch = 1};
  EXPECT_NE(error().find("prompts and tokens"), std::string::npos);
}

}  // namespace
}  // namespace aqua::sim::test
