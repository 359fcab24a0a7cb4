// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/load_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tools/profiler/memory/swap_needs.hpp"
#include "tools/sim/engine/random.hpp"

namespace aqua::profiler {
namespace {

Trip trip(double at, double first, double end, std::uint64_t prompt, std::uint64_t output) {
  return {
      .at_s = at, .first_s = first, .end_s = end, .prompt_tokens = prompt, .output_tokens = output};
}

TEST(LoadTokens, OfOneIsItsPromptAndItsAnswer) {
  const LoadTokens tokens = load_tokens({trip(0, 1, 2, 100, 10)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 110);
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 110);
  EXPECT_DOUBLE_EQ(tokens.mean_waiting, 0.5);
}

TEST(LoadTokens, OfTwoAtOnceIsBothAsFarAsTheyAre) {
  const LoadTokens tokens = load_tokens({trip(0, 0, 10, 100, 100), trip(0, 0, 5, 1000, 10)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 1010 + 150);
}

TEST(LoadTokens, WantedCountsThoseWhoWait) {
  const LoadTokens tokens = load_tokens({trip(0, 0, 4, 100, 4), trip(1, 5, 6, 500, 1)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 501);
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 104 + 500);
}

TEST(LoadTokens, PassesOverWhatWasNeverAnswered) {
  const LoadTokens tokens = load_tokens({trip(0, -1, -1, 100, 4), trip(0, 1, -1, 100, 4)});
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 0);
}

// As defined, however long it takes: at each end, who is there?
LoadTokens one_by_one(const std::vector<Trip>& trips) {
  LoadTokens tokens;
  for (const Trip& end : trips) {
    double served = 0, waiting = 0;
    for (const Trip& one : trips) {
      if (one.at_s > end.end_s || one.end_s < end.end_s) continue;
      const double share = (end.end_s - one.first_s) / (one.end_s - one.first_s);
      const auto prompt = static_cast<double>(one.prompt_tokens);
      if (one.first_s <= end.end_s)
        served += prompt + share * static_cast<double>(one.output_tokens);
      else
        waiting += prompt;
    }
    tokens.peak_served = std::max(tokens.peak_served, served);
    tokens.peak_wanted = std::max(tokens.peak_wanted, served + waiting);
  }
  return tokens;
}

std::vector<Trip> random_trips(std::size_t count) {
  sim::Random random(3);
  std::vector<Trip> trips;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = std::floor(1000 * random.uniform()) / 4;
    const double first = at + std::floor(20 * random.uniform()) / 4;
    const double end = first + 0.25 + std::floor(200 * random.uniform()) / 4;
    trips.push_back(trip(at, first, end, random.below(4000), 1 + random.below(500)));
  }
  return trips;
}

TEST(LoadTokens, OfManyIsTheSameAsOneByOne) {
  const auto trips = random_trips(400);
  const LoadTokens tokens = load_tokens(trips), expected = one_by_one(trips);
  EXPECT_NEAR(tokens.peak_served, expected.peak_served, 1e-6 * expected.peak_served);
  EXPECT_NEAR(tokens.peak_wanted, expected.peak_wanted, 1e-6 * expected.peak_wanted);
}

TEST(LoadTokens, OfAsManyAsMayBeAskedIsQuick) {
  const auto trips = random_trips(50'000);  // two and a half thousand million pairs
  EXPECT_GT(load_tokens(trips).peak_served, 0);
}

TEST(SwapNeeds, AreWhatThePoolCannotHold) {
  EXPECT_DOUBLE_EQ(prefix_swap_bytes(3, 1000, 10), 30'000);
  EXPECT_DOUBLE_EQ(long_prompt_swap_bytes(1000, 10, 4000), 6000);
  EXPECT_DOUBLE_EQ(long_prompt_swap_bytes(100, 10, 4000), 0);
  EXPECT_DOUBLE_EQ(burst_swap_bytes(5000, 4000), 1000);
  EXPECT_DOUBLE_EQ(burst_swap_bytes(3000, 4000), 0);
}

}  // namespace
}  // namespace aqua::profiler
