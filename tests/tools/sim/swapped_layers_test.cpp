// SPDX-License-Identifier: Apache-2.0
// Engines whose layers are swapped: what an iteration takes, by hand; how frames follow the load
// and the link; that nothing is lost on the way.
#include "tools/sim/layers/swapped_layers.hpp"

#include <algorithm>
#include <array>

#include "systems/layer_swap/decide/ring_plan.hpp"
#include "tests/tools/sim/ground.hpp"
#include "tools/sim/input/quoted_lengths.hpp"

namespace aqua::sim::test {
namespace {

Scenario pie_scenario(const char* model, double gb, const char* server = "gh200") {
  Scenario scenario;
  scenario.model = must(load_model(model));
  scenario.server = must(load_server(server));
  scenario.kv_tokens = gb * 1e9 / scenario.model.kv_bytes_per_token();
  return scenario;
}

Workload asked(const char* lengths, std::uint64_t requests, double rate) {
  return must(poisson(draw_lengths(must(find_quoted_lengths(lengths))),
                      {.requests = requests, .per_second = rate}, 1));
}

double throughput(const Scenario& scenario, const char* policy, const Workload& workload) {
  return measure(play(scenario, policy, workload), {}).throughput_tokens_s;
}

TEST(SwappedLayers, WithExpansionOneEveryRequestIsServedAsByPlainFcfs) {
  Scenario scenario = pie_scenario("opt-13b", 3);
  const Workload workload = asked("sharegpt", 60, 3);
  const RunOutcome plain = play(scenario, "fcfs+recompute", workload);
  EXPECT_GT(plain.totals.recomputes, 0U) << "memory was not short";
  EXPECT_FALSE(plain.layers.has_value());
  scenario.expansion = 1;
  for (const char* policy : {"fcfs+pie", "fcfs+pie+aqua", "fcfs+ondemand"}) {
    const RunOutcome one = play(scenario, policy, workload);
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_EQ(one.requests[i].first_token, plain.requests[i].first_token) << policy << " " << i;
      ASSERT_EQ(one.requests[i].finish, plain.requests[i].finish) << policy << " " << i;
    }
    EXPECT_TRUE(one.totals == plain.totals) << policy;
    EXPECT_EQ(one.layers.value().expansion(), 1);
    EXPECT_EQ(one.layers.value().bytes_in, 0);
  }
}

// A prompt of 32 tokens and ten tokens of answer: two blocks, then three.
TEST(SwappedLayers, AnIterationTakesWhatItComputesAndItsCopies) {
  Scenario scenario = pie_scenario("opt-13b", 2);
  scenario.expansion = 2;
  const Ground ground = must(resolve(scenario, {}));
  const Workload workload = must(poisson(constant_trace(32, 10), {.requests = 1}, 1));
  const double block = ground.kv_bytes_per_token * 16 / 40,
               hbm = ground.cost.roof().bytes_per_second;
  const auto expected = [&](std::size_t streamed, bool waits) {
    const auto s = static_cast<double>(streamed);
    double total = seconds(ground.cost.prompt_alone(32, 10));
    for (int i = 0; i < 10; ++i) {
      const double read = (i < 2 ? 2 * i : 3) * block, written = (i == 0 ? 2 : 1) * block;
      total += s * (read + written) / hbm;
      if (waits) total += s * (10e-6 + read / 419e9 + 10e-6 + written / 371e9);
    }
    return total;
  };
  const RunOutcome on_demand = play(scenario, "fcfs+ondemand", workload);
  EXPECT_NEAR(seconds(on_demand.makespan), expected(21, true), 1e-9);
  const RunOutcome pie = play(scenario, "fcfs+pie", workload);
  EXPECT_NEAR(seconds(pie.makespan), expected(layer_swap::best_ring(40, 20).streamed.size(), false),
              1e-9);
  EXPECT_EQ(pie.layers.value().stalled_seconds, 0);
  EXPECT_EQ(pie.layers.value().expansion(), 2);
}

TEST(SwappedLayers, EveryTokenIsComputedWhateverTheFramesAre) {
  Scenario scenario = pie_scenario("opt-30b", 3);
  scenario.link_changes = {{picos(40), 0.1}, {picos(80), 1}};
  const Workload workload = asked("sharegpt", 80, 4);
  for (const char* policy : {"fcfs+pie", "fcfs+ondemand"}) {
    const RunOutcome outcome = play(scenario, policy, workload);
    std::uint64_t computed = 0;
    for (const RequestOutcome& request : outcome.requests) {
      ASSERT_NE(request.finish, kNever);
      computed += request.prompt_tokens + request.output_tokens - 1;
    }
    EXPECT_EQ(outcome.totals.prefill_tokens + outcome.totals.decode_tokens, computed);
    EXPECT_EQ(outcome.layers.value().frames.size() > 3, std::string(policy) == "fcfs+pie");
  }
}

struct Shape {
  const char* name;
  const char* model;
  const char* lengths;
  const char* server;
  double gb, rate;
  std::uint64_t requests;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};
const Shape shapes[] = {
    {"opt_30b_sharegpt", "opt-30b", "sharegpt", "gh200", 3, 20, 400},
    {"opt_13b_sharegpt_7_gb", "opt-13b", "sharegpt", "gh200", 7, 40, 200},
    {"llama_13b_alpaca", "llama-13b", "alpaca", "gh200", 3, 100, 1200},
    {"opt_30b_alpaca_over_pcie", "opt-30b", "alpaca", "h100", 3, 100, 600},
};

class Shapes : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(SwappedLayers, Shapes, ::testing::ValuesIn(shapes),
                         ::testing::PrintToStringParamName());

// The best of all have their frames from the first iteration on, adaptive ones after some hundred.
// Over PCIe, where little is to be gained, too many layers away would cost much.
TEST_P(Shapes, AdaptiveIsNearTheBestFixedExpansion) {
  const Shape shape = GetParam();
  Scenario scenario = pie_scenario(shape.model, shape.gb, shape.server);
  const Workload workload = asked(shape.lengths, shape.requests, shape.rate);
  scenario.expansion = 1;
  const double plain = throughput(scenario, "fcfs+pie", workload);
  double best = plain, best_expansion = 1;
  const std::uint32_t layers = scenario.model.layers;
  for (std::uint32_t frames = layer_swap::kLeastFrames; frames < layers; ++frames) {
    const double expansion = static_cast<double>(layers) / frames;
    scenario.expansion = expansion;
    const double rate = throughput(scenario, "fcfs+pie", workload);
    if (rate > best) best = rate, best_expansion = expansion;
  }
  EXPECT_GT(best, 1.05 * plain) << "there is nothing to gain";
  scenario.expansion.reset();
  const RunOutcome adaptive = play(scenario, "fcfs+pie", workload);
  const double rate = measure(adaptive, {}).throughput_tokens_s;
  EXPECT_GE(rate, 0.98 * best) << "expansion " << adaptive.layers->expansion() << ", where "
                               << best_expansion << " is best";
  EXPECT_GE(rate, 0.98 * plain) << "it did harm";
}

// Plays iterations of a batch that fills whatever blocks there are, and of which more is wanted.
class Driven {
 public:
  explicit Driven(std::vector<LinkChange> changes) {
    SwappedLayersOptions options{.layers = 48, .blocks = 1000, .layer_block_bytes = 40e3};
    options.host.in_bytes_per_second = 100e9;
    options.host.out_bytes_per_second = 80e9;
    options.link_changes = std::move(changes);
    layers_.emplace(must(SwappedLayers::create(options, swap_)));
    layers_->waits(1'000'000);
  }
  // Answers the share of their time that iterations stalled.
  double play(int iterations) {
    const LayersOutcome before = layers_->outcome();
    for (int i = 0; i < iterations; ++i) {
      const std::uint64_t blocks = layers_->usable_blocks();
      const Picos compute = picos(20e-3 + 2e-6 * static_cast<double>(blocks));
      const auto played = layers_->play(
          {.compute = compute, .blocks = blocks, .read = blocks, .written = blocks / 20}, now);
      now += compute + played.longer;
    }
    const LayersOutcome& after = layers_->outcome();
    return (after.stalled_seconds - before.stalled_seconds) / (after.seconds - before.seconds);
  }
  void play_until(Picos time) {
    while (now < time) (void)play(1);
  }
  [[nodiscard]] std::uint32_t frames() const { return layers_->frames(); }

  Picos now = 0;

 private:
  SwapSpace swap_{nullptr};
  std::optional<SwappedLayers> layers_;
};

TEST(SwappedLayers, WhenTheLinkIsHalvedStallsAreGoneInFiftyIterationsAndBackWithIt) {
  Driven driven({{picos(20), 0.5}, {picos(60), 1}});
  driven.play_until(picos(20));
  const std::uint32_t before = driven.frames();
  EXPECT_LT(before, 40U);
  EXPECT_GT(driven.play(5), 0.02) << "it made no difference";
  (void)driven.play(45);
  EXPECT_LT(driven.play(400), 0.02);
  EXPECT_GT(driven.frames(), before + 2);
  ASSERT_LT(driven.now, picos(60));
  driven.play_until(picos(60));
  EXPECT_GT(driven.frames(), before + 2);
  (void)driven.play(100);
  EXPECT_LE(driven.frames(), before + 1) << "the link is as before";
}

TEST(SwappedLayers, AShortBurstOnTheLinkChangesNothing) {
  Driven driven({{picos(20), 0.25}, {picos(20.25), 1}});
  driven.play_until(picos(20));
  const std::uint32_t before = driven.frames();
  EXPECT_GT(driven.play(4), 0.02) << "the burst was none";
  EXPECT_LT(driven.play(200), 0.02);
  EXPECT_EQ(driven.frames(), before);
}

TEST(SwappedLayers, ALenderThatTakesItsMemoryBackSendsThemToTheHost) {
  Scenario scenario = pie_scenario("opt-30b", 3, "h100");
  scenario.lent_changes = {{picos(30), 0}};
  const RunOutcome outcome = play(scenario, "fcfs+pie+aqua", asked("sharegpt", 200, 5));
  const auto at = [&](double second) {
    return std::find_if(outcome.memory.begin(), outcome.memory.end(),
                        [&](const MemorySample& sample) { return sample.at >= picos(second); });
  };
  ASSERT_NE(at(60), outcome.memory.end());
  EXPECT_GT(at(29)->peer_bytes, 1e9);
  EXPECT_EQ(at(29)->host_bytes, 0);
  EXPECT_EQ(at(60)->peer_bytes, 0);
  const auto& changes = outcome.layers.value().frames;
  const auto later = std::find_if(changes.begin(), changes.end(),
                                  [](const auto& change) { return change.at > picos(30); });
  ASSERT_TRUE(later != changes.begin() && later != changes.end()) << "it went on as before";
  EXPECT_GT(later->frames, (later - 1)->frames) << "over PCIe fewer layers come in time";
  EXPECT_LT(later->at, picos(30.1)) << "by reckoning, before a window of stalls";
  EXPECT_LT(outcome.layers->stalled_seconds, 0.002 * outcome.layers->seconds);
  EXPECT_EQ(measure(outcome, {}).completed, 200U);
}

TEST(SwappedLayers, BadInputIsRefusedByName) {
  const auto refused = [](const Scenario& scenario) {
    const Ground ground = must(resolve(scenario, {}));
    const auto run = simulate(ground, must(parse_policy("fcfs+pie")), asked("alpaca", 2, 1));
    return run.ok() ? "it ran" : run.error().message;
  };
  const auto names = [](const std::string& message, const char* what) {
    return message.find(what) != std::string::npos ? "" : message;
  };
  Scenario scenario = pie_scenario("opt-13b", 3);
  for (const double expansion : {0.5, 14.0}) {
    scenario.expansion = expansion;
    EXPECT_EQ(names(refused(scenario), "an expansion of "), "");
  }
  scenario.expansion.reset();
  scenario.link_changes = {{picos(2), 0}};
  EXPECT_EQ(names(refused(scenario), "a link of which 0 is left"), "");
  scenario.link_changes = {{picos(2), 1}, {picos(1), 1}};
  EXPECT_EQ(names(refused(scenario), "order of time"), "");
  scenario.link_changes.clear();
  scenario.prefix_cache = true;
  EXPECT_EQ(names(refused(scenario), "prefix cache"), "");
  scenario.prefix_cache = false;
  scenario.model.layers = 2;
  EXPECT_EQ(names(refused(scenario), "a model of 2 layers"), "");
  for (const char* bad : {"cfs+pie", "fcfs+pie+dram", "vtc+ondemand", "fcfs+pie+blocks"}) {
    EXPECT_EQ(parse_policy(bad).error().code, Code::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace aqua::sim::test
