// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "aqua/northbound/load.hpp"
#include "aqua/northbound/producer_policy.hpp"
#include "aqua/types.hpp"

namespace aqua {
namespace {

using namespace std::chrono_literals;
using namespace aqua::literals;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A Llama-8B-like producer: 60 GiB of KV memory of which steady traffic leaves 40 GiB unused.
LoadProfile profile() {
  LoadProfile p;
  p.steady_requests_per_second = 5;
  p.steady_queue_length = 1;
  p.kv_bytes_total = 60_GiB;
  p.steady_free_bytes = 40_GiB;
  return p;
}

LoadReport load(double rate, double queue = 1, std::size_t wanted = 10_GiB) {
  LoadReport r;
  r.requests_per_second = rate;
  r.queue_length = queue;
  r.kv_bytes_used = std::min(wanted, 10_GiB);
  r.kv_bytes_wanted = wanted;
  return r;
}

const LoadReport kCalm = load(5);
const LoadReport kSurge = load(10);

// A policy and a clock that moves only when told.
class ProducerPolicyTest : public ::testing::Test {
 protected:
  Decision at(std::chrono::milliseconds t, const LoadReport& report) {
    const auto decision = policy_.observe(report, ProducerPolicy::TimePoint{} + t);
    EXPECT_TRUE(decision.ok());
    return decision.ok() ? *decision : Decision{};
  }
  // Reports once a second over [from, to); returns the decisions that were not keep.
  std::vector<Decision> over(std::chrono::seconds from, std::chrono::seconds to,
                             const LoadReport& report) {
    std::vector<Decision> flips;
    for (auto t = from; t < to; t += 1s) {
      if (const Decision d = at(t, report); d.action != ProducerAction::keep) flips.push_back(d);
    }
    return flips;
  }
  void expect_refused(const LoadReport& report, std::chrono::milliseconds t) {
    const auto decision = policy_.observe(report, ProducerPolicy::TimePoint{} + t);
    ASSERT_FALSE(decision.ok());
    EXPECT_EQ(decision.error().code, Code::invalid_argument);
  }

  ProducerPolicy policy_ = ProducerPolicy::create(profile()).value();
};

constexpr Decision kKeep{};
constexpr Decision kOfferAll{ProducerAction::offer, 40_GiB};
constexpr Decision kReclaimAll{ProducerAction::reclaim, 40_GiB};

TEST_F(ProducerPolicyTest, OffersOnlyAfterTheSettleTimeOfCalm) {
  EXPECT_TRUE(over(0s, 15s, kCalm).empty());
  EXPECT_EQ(at(15s, kCalm), kOfferAll);
  EXPECT_EQ(policy_.lent_bytes(), 40_GiB);
  EXPECT_TRUE(over(16s, 300s, kCalm).empty());
}

TEST_F(ProducerPolicyTest, ReclaimsEverythingWithTheFirstReportOfASurge) {
  (void)over(0s, 20s, kCalm);
  EXPECT_EQ(at(20s, kSurge), kReclaimAll);
  EXPECT_EQ(policy_.lent_bytes(), 0U);
  EXPECT_EQ(at(21s, kSurge), kKeep);
}

TEST_F(ProducerPolicyTest, ReclaimsOnAQueueAloneWhichMovesBeforeTheRate) {
  (void)over(0s, 20s, kCalm);
  EXPECT_EQ(at(20s, load(5, 30)), kReclaimAll);
}

TEST_F(ProducerPolicyTest, ReclaimsAtOnceEvenRightAfterAnOffer) {
  (void)over(0s, 15s, kCalm);
  EXPECT_EQ(at(15s, kCalm), kOfferAll);
  EXPECT_EQ(at(15s, kSurge), kReclaimAll);
}

TEST_F(ProducerPolicyTest, OffersAgainOnceSettledAndNoSoonerThanTheTimeBetweenFlips) {
  (void)over(0s, 20s, kCalm);
  EXPECT_EQ(at(20s, kSurge), kReclaimAll);
  EXPECT_TRUE(over(21s, 50s, kCalm).empty());  // settled at 36 s, but flipped at 20 s
  EXPECT_EQ(at(50s, kCalm), kOfferAll);
}

TEST_F(ProducerPolicyTest, ALongSurgeDelaysTheOfferByTheSettleTimeAfterItsEnd) {
  (void)over(0s, 20s, kCalm);
  EXPECT_EQ(over(20s, 100s, kSurge), std::vector{kReclaimAll});
  EXPECT_TRUE(over(100s, 115s, kCalm).empty());
  EXPECT_EQ(at(115s, kCalm), kOfferAll);
}

TEST_F(ProducerPolicyTest, ALoadBetweenTheThresholdsNeitherTakesNorGives) {
  const LoadReport between = load(7);  // over 5 * 1.2 + 0.25, not over 5 * 1.5 + 0.5
  EXPECT_TRUE(over(0s, 100s, between).empty());
  (void)over(100s, 120s, kCalm);
  EXPECT_EQ(policy_.lent_bytes(), 40_GiB);
  EXPECT_TRUE(over(120s, 300s, between).empty());
  EXPECT_EQ(policy_.lent_bytes(), 40_GiB);
}

TEST_F(ProducerPolicyTest, OneRestlessReportStartsTheSettlingAnew) {
  (void)over(0s, 14s, kCalm);
  EXPECT_EQ(at(14s, load(7)), kKeep);
  EXPECT_TRUE(over(15s, 30s, kCalm).empty());
  EXPECT_EQ(at(30s, kCalm), kOfferAll);
}

TEST_F(ProducerPolicyTest, SilenceIsNotCalm) {
  EXPECT_EQ(at(0s, kCalm), kKeep);
  EXPECT_EQ(at(60s, kCalm), kKeep);  // who knows what happened in between
  EXPECT_TRUE(over(61s, 75s, kCalm).empty());
  EXPECT_EQ(at(75s, kCalm), kOfferAll);
}

TEST_F(ProducerPolicyTest, LongerContextsAtTheSameRateTakeBackWhatIsMissingAndHeadroom) {
  (void)over(0s, 20s, kCalm);
  EXPECT_EQ(at(20s, load(5, 1, 20_GiB)), kKeep);  // exactly fills what the engine has left
  EXPECT_EQ(at(21s, load(5, 1, 25_GiB)), (Decision{ProducerAction::reclaim, 11_GiB}));
  EXPECT_EQ(policy_.lent_bytes(), 29_GiB);
  EXPECT_EQ(at(22s, load(5, 1, 25_GiB)), kKeep);
  EXPECT_EQ(at(23s, load(5, 1, std::numeric_limits<std::size_t>::max())),
            (Decision{ProducerAction::reclaim, 29_GiB}));
}

TEST_F(ProducerPolicyTest, NeverOffersWhatTheEngineWantsOrItsHeadroom) {
  const LoadReport full = load(5, 1, 50_GiB);
  (void)over(0s, 15s, full);
  EXPECT_EQ(at(15s, full), (Decision{ProducerAction::offer, 4_GiB}));
  EXPECT_EQ(at(16s, kCalm), (Decision{ProducerAction::offer, 36_GiB}));  // it wants less now
  EXPECT_TRUE(over(17s, 100s, load(5, 1, 60_GiB)).size() == 1);
}

TEST_F(ProducerPolicyTest, OffersTooSmallToBeWorthwhileAreNotMade) {
  EXPECT_TRUE(over(0s, 60s, load(5, 1, 54_GiB - 255_MiB)).empty());
  EXPECT_EQ(at(60s, load(5, 1, 54_GiB - 256_MiB)).action, ProducerAction::offer);
}

TEST_F(ProducerPolicyTest, AcceptsACorrectionOfWhatIsReallyLent) {
  (void)over(0s, 20s, kCalm);
  policy_.set_lent_bytes(8_GiB);
  EXPECT_EQ(at(20s, kSurge), (Decision{ProducerAction::reclaim, 8_GiB}));
}

TEST_F(ProducerPolicyTest, RefusesReportsThatCannotBeTrueAndForgetsThem) {
  (void)over(0s, 15s, kCalm);
  for (const double bad : {kNaN, -1.0, std::numeric_limits<double>::infinity()}) {
    expect_refused(load(bad), 15s);
    expect_refused(load(5, bad), 15s);
  }
  LoadReport less_wanted_than_used = kCalm;
  less_wanted_than_used.kv_bytes_wanted = 1;
  expect_refused(less_wanted_than_used, 15s);
  LoadReport negative_latency = kCalm;
  negative_latency.time_to_first_token.p50 = -1us;
  expect_refused(negative_latency, 15s);
  LoadReport crossed = kCalm;
  crossed.time_per_output_token = {.p50 = 2ms, .p99 = 1ms};
  expect_refused(crossed, 15s);
  expect_refused(kSurge, 13s);           // from the past
  EXPECT_EQ(at(15s, kCalm), kOfferAll);  // as if none of them had come
}

TEST(ProducerPolicy, ADeviceBelowTheThresholdNeverLends) {
  LoadProfile small = profile();
  small.steady_free_bytes = 9'999'999'999;
  auto policy = ProducerPolicy::create(small).value();
  EXPECT_FALSE(policy.is_producer());
  for (int s = 0; s < 600; ++s) {
    EXPECT_EQ(policy.observe(kCalm, ProducerPolicy::TimePoint{} + std::chrono::seconds(s)).value(),
              kKeep);
  }
}

TEST(ProducerPolicy, AnIdleEngineLendsAndAsksBackWithTheFirstRealTraffic) {
  LoadProfile idle = profile();
  idle.steady_requests_per_second = 0;
  idle.steady_queue_length = 0;
  auto policy = ProducerPolicy::create(idle).value();
  Decision last;
  for (int s = 0; s <= 15; ++s) {
    last =
        policy.observe(load(0, 0), ProducerPolicy::TimePoint{} + std::chrono::seconds(s)).value();
  }
  EXPECT_EQ(last, kOfferAll);
  EXPECT_EQ(policy.observe(load(1, 0), ProducerPolicy::TimePoint{} + 16s).value(), kReclaimAll);
}

TEST(ProducerPolicy, RefusesOptionsWithoutHysteresisAndProfilesThatCannotBe) {
  const auto refused = [](const LoadProfile& p, const ProducerOptions& o) {
    const auto made = ProducerPolicy::create(p, o);
    return !made.ok() && made.error().code == Code::invalid_argument;
  };
  ProducerOptions flat;
  flat.settle = flat.rise;
  EXPECT_TRUE(refused(profile(), flat));
  ProducerOptions nan;
  nan.rise.queue_ratio = kNaN;
  EXPECT_TRUE(refused(profile(), nan));
  ProducerOptions greedy;
  greedy.headroom = 1;
  EXPECT_TRUE(refused(profile(), greedy));
  ProducerOptions hasty;
  hasty.settle_time = -1ms;
  EXPECT_TRUE(refused(profile(), hasty));
  LoadProfile impossible = profile();
  impossible.steady_free_bytes = impossible.kv_bytes_total + 1;
  EXPECT_TRUE(refused(impossible, {}));
  impossible = profile();
  impossible.steady_requests_per_second = kNaN;
  EXPECT_TRUE(refused(impossible, {}));
}

// Whatever the load does: no offer within min_time_between_flips of a reclaim, never
// more lent than the profile allows, and never both at once.
class NoisyLoad : public ::testing::TestWithParam<unsigned> {};

TEST_P(NoisyLoad, AroundTheThresholdsFlipsAtMostTwicePerMinimalTime) {
  auto policy = ProducerPolicy::create(profile()).value();
  std::mt19937 rng(GetParam());
  std::normal_distribution<double> noise(0, 0.5);
  double level = 5;  // from below settle to above rise, for half a minute or so
  std::exponential_distribution<double> gap(1 / 500.0);
  std::size_t lent = 0;
  int flips = 0;
  std::chrono::milliseconds t{0};
  constexpr auto kEnd = std::chrono::milliseconds(4h);
  std::optional<std::chrono::milliseconds> reclaimed;
  while (t < kEnd) {
    t += std::chrono::milliseconds(static_cast<long>(gap(rng)));
    if (rng() % 60 == 0) level = 4.5 + static_cast<double>(rng() % 5);
    const std::size_t wanted = 10_GiB + rng() % 12 * 1_GiB;
    const auto d =
        policy.observe(load(level + noise(rng), 1, wanted), ProducerPolicy::TimePoint{} + t)
            .value();
    if (d.action == ProducerAction::keep) {
      ASSERT_EQ(d.bytes, 0U);
      continue;
    }
    ++flips;
    ASSERT_GT(d.bytes, 0U);
    if (d.action == ProducerAction::offer) {
      ASSERT_TRUE(!reclaimed || t - *reclaimed >= 30s);
      lent += d.bytes;
      ASSERT_LE(lent, 40_GiB);
    } else {
      ASSERT_LE(d.bytes, lent);
      lent -= d.bytes;
      reclaimed = t;
    }
    ASSERT_EQ(policy.lent_bytes(), lent);
  }
  EXPECT_GT(flips, 100);
  EXPECT_LE(flips, 2 * (kEnd / 30s) + 1);
}

TEST_P(NoisyLoad, OfASteadyPoissonServiceLeavesALoanAlone) {
  // One hour of 5 requests per second, reported each second as a mean over ten.
  auto policy = ProducerPolicy::create(profile()).value();
  std::mt19937 rng(GetParam());
  std::poisson_distribution<int> arrivals(5);
  std::vector<int> window(10, 5);
  int flips = 0;
  for (int s = 0; s < 3600; ++s) {
    window[static_cast<std::size_t>(s % 10)] = arrivals(rng);
    double sum = 0;
    for (const int n : window) sum += n;
    const auto d =
        policy.observe(load(sum / 10), ProducerPolicy::TimePoint{} + std::chrono::seconds(s));
    ASSERT_TRUE(d.ok());
    flips += d->action != ProducerAction::keep;
  }
  EXPECT_GE(flips, 1);
  EXPECT_LE(flips, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NoisyLoad, ::testing::Range(1U, 9U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua
