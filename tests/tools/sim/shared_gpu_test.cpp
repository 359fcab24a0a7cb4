// SPDX-License-Identifier: Apache-2.0
// Several engines on one simulated GPU: when iterations end, and what their users feel.
#include "tools/sim/share/shared_gpu.hpp"

#include <gtest/gtest.h>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/share/models.hpp"

namespace aqua::sim {
namespace {

constexpr Picos kMs = kPicosPerSecond / 1000;

SharingProfile without_memory_limit() {
  SharingProfile profile;
  profile.prefill.bandwidth = profile.decode.bandwidth = 0;
  return profile;
}

TEST(SharedGpu, InTurnOneWaitsForTheOther) {
  SharedGpu gpu(GpuSharing::temporal, {0.5, 0.5}, {});
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, true), 10 * kMs);
  EXPECT_EQ(gpu.of(1).begin(2 * kMs, 5 * kMs, false), 15 * kMs);
  EXPECT_EQ(gpu.of(0).begin(20 * kMs, 5 * kMs, false), 25 * kMs);
}

TEST(SharedGpu, SideBySideEachHasTheSpeedOfItsPart) {
  SharedGpu gpu(GpuSharing::fixed, {0.25, 0.75}, without_memory_limit());
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, true), 40 * kMs) << "also while the other is idle";
  EXPECT_EQ(gpu.of(1).begin(0, 15 * kMs, true), 20 * kMs);
  EXPECT_EQ(gpu.of(1).begin(20 * kMs, 5 * kMs, false), 25 * kMs) << "decode has enough at 0.4";
}

TEST(SharedGpu, MemoryBandwidthIsDividedAmongThoseThatWantIt) {
  SharedGpu gpu(GpuSharing::fixed, {0.5, 0.5}, {});  // 0.8 each
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, false), 10 * kMs);
  EXPECT_EQ(gpu.of(1).begin(5 * kMs, 10 * kMs, false), 21 * kMs);
}

TEST(SharedGpu, BesideTheOtherPhaseThatCurveCountsInPlaceOfTheBandwidth) {
  SharingProfile profile;
  profile.prefill.bandwidth = 1;
  profile.prefill.beside_the_other = sharing::SpeedCurve{.points = {{0.5, 0.25}, {1, 1}}};
  SharedGpu gpu(GpuSharing::fixed, {0.5, 0.5}, profile);
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, true), 20 * kMs) << "beside nothing";
  EXPECT_EQ(gpu.of(1).begin(20 * kMs, 80 * kMs, false), 100 * kMs);
  EXPECT_EQ(gpu.of(0).begin(20 * kMs, 10 * kMs, true), 60 * kMs) << "beside decode";
  SharedGpu alike(GpuSharing::fixed, {0.5, 0.5}, profile);
  EXPECT_EQ(alike.of(0).begin(0, 100 * kMs, true), 200 * kMs);
  EXPECT_EQ(alike.of(1).begin(0, 10 * kMs, true), 20 * kMs)
      << "beside the same: bandwidth, 0.5 each";
}

// What the H100's file says, to a hundredth.
TEST(SharedGpu, MeasuredOnAnH100PrefillLosesFarMoreBesideDecodeThanDecodeBesidePrefill) {
  const SharingProfile h100 = measured_on_h100();
  EXPECT_NEAR(sharing::speed_at(h100.decode.speed, 32.0 / 132), 0.97, 0.01);
  ASSERT_TRUE(h100.prefill.beside_the_other && h100.decode.beside_the_other);
  EXPECT_NEAR(sharing::speed_at(*h100.prefill.beside_the_other, 72.0 / 132), 0.18, 0.01);
  EXPECT_NEAR(sharing::speed_at(*h100.prefill.beside_the_other, 120.0 / 132), 0.66, 0.01);
  EXPECT_NEAR(sharing::speed_at(*h100.decode.beside_the_other, 100.0 / 132), 0.95, 0.01);
  EXPECT_NEAR(sharing::speed_at(*h100.decode.beside_the_other, 12.0 / 132), 0.53, 0.01);
  for (const PhaseProfile& phase : {h100.prefill, h100.decode}) {
    const std::vector<sharing::EngineLoad> asked{{.phases = {{0.1, phase.speed}}},
                                                 {.phases = {{0.1, *phase.beside_the_other}}}};
    EXPECT_TRUE(sharing::SmShares::create(2, {}).value().decide(asked).ok()) << "both are curves";
  }
}

TEST(SharedGpu, WhoHasAllOfItIsWaitedFor) {
  auto shares = sharing::SmShares::create(2, {.units = 4}).value();
  const std::vector<sharing::EngineLoad> busy(2, {.phases = {{0.3, {}}}});
  ASSERT_TRUE(shares.decide(busy).ok());
  ASSERT_FALSE(shares.take_turns());
  SharedGpu gpu(GpuSharing::by_load, {0.5, 0.5}, without_memory_limit());
  gpu.set_shares(shares);
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, true), 10 * kMs) << "the other is idle";
  EXPECT_EQ(gpu.of(1).begin(4 * kMs, 10 * kMs, true), 30 * kMs) << "from 10 ms on, with half";
  EXPECT_EQ(gpu.of(0).begin(10 * kMs, 10 * kMs, true), 30 * kMs) << "with its own half";
}

TEST(SharedGpu, NewSharesWaitForIterationsUnderWay) {
  auto shares = sharing::SmShares::create(2, {.units = 4, .least = 0}).value();
  const std::vector<sharing::EngineLoad> loads{{.phases = {{0.6, {}}}}, {.phases = {{0.1, {}}}}};
  ASSERT_TRUE(shares.decide(loads).value());
  SharedGpu gpu(GpuSharing::by_load, {0.5, 0.5}, without_memory_limit());
  EXPECT_EQ(gpu.of(0).begin(0, 10 * kMs, true), 10 * kMs);
  EXPECT_EQ(gpu.of(1).begin(0, 10 * kMs, true), 20 * kMs) << "in turn, as it begins";
  gpu.set_shares(shares);
  EXPECT_EQ(gpu.of(0).begin(10 * kMs, 15 * kMs, true), 35 * kMs) << "alone from 20 ms on";
  EXPECT_EQ(gpu.of(1).begin(20 * kMs, 10 * kMs, true), 75 * kMs) << "a quarter, once it is there";
}

class SharedModels : public ::testing::Test {
 protected:
  [[nodiscard]] ModelsOutcome play(const WayToShare& way, double per_second) const {
    ModelsShape shape{.models = 3, .per_second = per_second, .seconds = 120};
    return share_gpu(ground_, trace_, shape, way, {}, 1).value();
  }
  // 1,000 tokens in, 200 out.
  static Trace one_length() {
    Trace trace;
    trace.requests = {{.prompt_tokens = 1000, .output_tokens = 200}};
    return trace;
  }

  const Ground ground_ = resolve({.model = test::must(load_model("llama-2-7b")),
                                  .server = test::must(load_server("a100"))},
                                 {})
                             .value();
  const Trace trace_ = one_length();
  const std::vector<WayToShare> ways_ = ways_to_share({.models = 3});
};

TEST_F(SharedModels, EveryWayAnswersAll) {
  for (const WayToShare& way : ways_) {
    const ModelsOutcome outcome = play(way, 2);
    std::uint64_t answered = 0;
    for (const Metrics& model : outcome.models) answered += model.completed;
    EXPECT_GT(outcome.requests, 150U) << way.name;
    EXPECT_EQ(answered, outcome.requests) << way.name;
    EXPECT_EQ(outcome.changes > 0, way.how == GpuSharing::by_load) << way.name;
  }
}

TEST_F(SharedModels, ByLoadIsNeverWorseThanInTurnOrInEqualParts) {
  for (const double per_second : {0.5, 1.0, 2.0, 3.0, 4.0, 6.0}) {
    const double by_load = play(ways_.back(), per_second).within_sla;
    for (const std::size_t way : {0U, 1U}) {
      EXPECT_GE(by_load + 0.01, play(ways_[way], per_second).within_sla)
          << ways_[way].name << " at " << per_second << " a second";
    }
  }
}

TEST_F(SharedModels, TheSameSeedGivesTheSame) {
  EXPECT_EQ(play(ways_.back(), 3).within_sla, play(ways_.back(), 3).within_sla);
}

TEST_F(SharedModels, PopularityTurnsRoundAtHalfTime) {
  const ModelsShape shape{.models = 4, .skew = 4, .per_second = 2, .seconds = 200};
  const auto outcome =
      test::must(share_gpu(ground_, trace_, shape, ways_to_share(shape)[0], {}, 1));
  // Hardly anybody asks for the last one before, and nearly everybody after.
  EXPECT_NEAR(static_cast<double>(outcome.requests), 400, 60);
  EXPECT_NEAR(static_cast<double>(outcome.models[3].completed), 185, 40);
  EXPECT_NEAR(static_cast<double>(outcome.models[0].completed), 185, 40);
}

TEST_F(SharedModels, ARequestAsLargeAsAnEqualPartIsAnsweredByEachWay) {
  Trace trace;
  trace.requests = {{.prompt_tokens = 1000, .output_tokens = 200},
                    {.prompt_tokens = 5000, .output_tokens = 500},
                    {.prompt_tokens = 200, .output_tokens = 20}};
  Scenario scenario = ground_.scenario;
  scenario.kv_tokens = 3 * 5600;
  const Ground ground = test::must(resolve(scenario, {}));
  const ModelsShape shape{.models = 3, .per_second = 1, .seconds = 120};
  for (const WayToShare& way : ways_) {
    const ModelsOutcome outcome = test::must(share_gpu(ground, trace, shape, way, {}, 1));
    std::uint64_t completed = 0;
    for (const Metrics& model : outcome.models) completed += model.completed;
    EXPECT_EQ(completed, outcome.requests) << way.name;
  }
}

TEST_F(SharedModels, ModelsThatDoNotFitAreRefused) {
  const auto refused =
      share_gpu(ground_, trace_, {.models = 6}, ways_to_share({.models = 6})[0], {}, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::failed_precondition);
}

}  // namespace
}  // namespace aqua::sim
