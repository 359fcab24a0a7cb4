// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/rate_search.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tools/sim/engine/random.hpp"

namespace aqua::profiler {
namespace {

RateSearch search_of(const RateRange& range) {
  return RateSearch::create(range).value();
}

TEST(RateSearch, FindsEveryTruthOfEveryRange) {
  for (int rates = 1; rates <= 70; ++rates) {
    const RateRange range{.from = 1, .to = 1 + 0.5 * (rates - 1), .step = 0.5};
    for (int truth = 0; truth <= rates; ++truth) {
      RateSearch search = search_of(range);
      ASSERT_EQ(search.rates(), static_cast<std::size_t>(rates));
      const double last_good = 0.5 + 0.5 * truth;  // below `from`: none
      while (const auto rate = search.next()) search.told(*rate <= last_good);
      EXPECT_EQ(search.best().has_value(), truth > 0);
      EXPECT_DOUBLE_EQ(search.best().value_or(0.5), last_good) << rates << " rates";
      EXPECT_EQ(search.at_top(), truth == rates);
    }
  }
}

TEST(RateSearch, MakesAtMostTwiceTheProbesOfHalving) {
  sim::Random random(7);
  for (std::size_t rates = 3; rates <= 300; ++rates) {
    RateSearch search = search_of({.from = 1, .to = static_cast<double>(rates), .step = 1});
    std::size_t probes = 0;
    for (; search.next(); ++probes) search.told(random.uniform() < 0.5);
    EXPECT_LE(probes, 2 * static_cast<std::size_t>(std::ceil(std::log2(rates))));
  }
}

TEST(RateSearch, WalksToWhereMostProbesSayYes) {
  // Halving is misled: 5 is the truth, and missed by chance.
  RateSearch search = search_of({.from = 1, .to = 19, .step = 1});
  std::size_t asked = 0;
  while (const auto rate = search.next()) {
    const bool by_chance = asked == 1 && *rate == 5;  // missed, once
    search.told(*rate <= 5 && !by_chance);
    ++asked;
  }
  EXPECT_DOUBLE_EQ(search.best().value(), 5);
}

// Tells what was said, in that order, and then what is true.
RateSearch told_first(const RateRange& range, std::vector<bool> said, double truth) {
  RateSearch search = search_of(range);
  std::size_t asked = 0;
  while (const auto rate = search.next()) {
    search.told(asked < said.size() ? said[asked] : *rate <= truth);
    ++asked;
  }
  return search;
}

TEST(RateSearch, OneChanceAtTheAnswerDoesNotSendItToTheBottom) {
  // 5.5 is met by chance, 8, 7, 6.5 and 6 are missed.
  const RateSearch search = told_first({}, {true, false, false, false, false}, 5);
  EXPECT_EQ(search.best(), 5);
  EXPECT_TRUE(search.confirmed());
}

TEST(RateSearch, WhatWasNeverAskedIsNotMissed) {
  const RateSearch search = told_first({.from = 1, .to = 2, .step = 1}, {true}, 1);
  EXPECT_EQ(search.best(), 1);
  EXPECT_TRUE(search.confirmed());
  EXPECT_FALSE(search.none_holds());
}

TEST(RateSearch, AnAnswerWasMetByAWholeProbe) {
  RateSearch search = search_of({});
  double whole = 0;
  while (const auto rate = search.next()) {
    const bool met = *rate <= 5;
    if (search.confirming() && met) whole = *rate;
    search.told(met);
  }
  EXPECT_TRUE(search.confirmed());
  EXPECT_EQ(search.best(), whole);
}

struct Share {
  double near = 0, confirmed = 0;
};

// Rates further than a step from the truth are as good as certain; around it, all is chance.
Share over_many_truths(std::size_t rates, double steepness) {
  sim::Random random(11);
  constexpr int kRuns = 2000;
  Share share;
  for (int run = 0; run < kRuns; ++run) {
    RateSearch search = search_of({.from = 1, .to = static_cast<double>(rates), .step = 1});
    const double truth = 1 + random.uniform() * static_cast<double>(rates - 1);
    while (const auto rate = search.next())
      search.told(random.uniform() < 1 / (1 + std::exp((*rate - truth) * steepness)));
    EXPECT_LE(search.probes(), search.most_probes());
    EXPECT_FALSE(search.confirmed() && !search.best());
    share.near += std::abs(search.best().value_or(0) - std::floor(truth)) <= 1 ? 1.0 / kRuns : 0;
    share.confirmed += search.confirmed() ? 1.0 / kRuns : 0;
  }
  return share;
}

TEST(RateSearch, IsWithinAStepOfWhereMostProbesSayYes) {
  for (const std::size_t rates : {5u, 19u, 100u, 1000u}) {
    const Share sharp = over_many_truths(rates, 10);
    EXPECT_GE(sharp.near, 0.998) << rates;
    EXPECT_GE(sharp.confirmed, 0.93) << rates;  // else none holds, or none is certain
    const Share noisy = over_many_truths(rates, 2);
    EXPECT_GE(noisy.near, 0.95) << rates;
    EXPECT_GE(noisy.confirmed, 0.85) << rates;
  }
}

TEST(RateSearch, ToldTheSameAsksTheSame) {
  RateSearch first = search_of({});
  std::vector<std::pair<double, bool>> said;
  for (int i = 0; i < 4; ++i) {
    said.emplace_back(*first.next(), *first.next() < 4);
    first.told(said.back().second);
  }
  RateSearch again = search_of({});
  for (const auto& [rate, met] : said) {
    ASSERT_EQ(again.next(), rate);
    again.told(met);
  }
  EXPECT_EQ(again.next(), first.next());
}

TEST(RateSearch, RefusesWhatIsNoRange) {
  for (const RateRange& range : {RateRange{0, 1, 1}, RateRange{2, 1, 1}, RateRange{1, 2, 0},
                                 RateRange{1, INFINITY, 1}, RateRange{1, 1e9, 1e-3}}) {
    const auto search = RateSearch::create(range);
    ASSERT_FALSE(search.ok());
    EXPECT_EQ(search.error().code, Code::invalid_argument);
  }
}

}  // namespace
}  // namespace aqua::profiler
