// SPDX-License-Identifier: Apache-2.0
// Pairs inside a server: stable, one to one, and as many bytes as any matching serves.
#include "tools/place/model/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <tuple>

namespace aqua::place {
namespace {

struct Market {
  std::vector<Party> producers;
  std::vector<Party> consumers;
};

Market random_market(std::mt19937_64& random, std::size_t most) {
  Market market;
  const auto fill = [&](std::vector<Party>& side, int first) {
    const std::size_t count = random() % (most + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = static_cast<Bytes>(1 + random() % 5);  // small, so that ties are common
      const auto bandwidth = static_cast<Bytes>(random() % 3);
      side.push_back({{first + static_cast<int>(i), 0}, bytes, bandwidth});
    }
  };
  fill(market.producers, 0);
  fill(market.consumers, 100);
  return market;
}

// How `a` ranks being with `b`: larger is better.
std::tuple<Bytes, Bytes, int> rank(const Party& a, const Party& b) {
  return {std::min(a.bytes, b.bytes), std::min(a.bandwidth_bytes, b.bandwidth_bytes),
          -b.shard.model};
}

const Party* partner(const std::vector<Pair>& pairs, const Party& of,
                     const std::vector<Party>& others) {
  for (const Pair& pair : pairs) {
    if (pair.producer != of.shard && pair.consumer != of.shard) continue;
    const ShardRef other = pair.producer == of.shard ? pair.consumer : pair.producer;
    for (const Party& one : others) {
      if (one.shard == other) return &one;
    }
  }
  return nullptr;
}

bool would_rather(const Party& a, const Party& b, const Party* with) {
  return with == nullptr || rank(a, b) > rank(a, *with);
}

TEST(Matching, NoTwoShardsWouldRatherHaveEachOther) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const Market m = random_market(random, 8);
    const auto pairs = stable_matching(m.producers, m.consumers);
    ASSERT_EQ(pairs.size(), std::min(m.producers.size(), m.consumers.size()));
    for (const Party& p : m.producers) {
      for (const Party& c : m.consumers) {
        const bool blocking = would_rather(p, c, partner(pairs, p, m.consumers)) &&
                              would_rather(c, p, partner(pairs, c, m.producers));
        ASSERT_FALSE(blocking) << round << ": " << p.shard.model << " and " << c.shard.model;
      }
    }
  }
}

TEST(Matching, EachShardHasOnePartnerAndPairsSayWhatIsServed) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const Market m = random_market(random, 8);
    std::set<ShardRef> seen;
    for (const Pair& pair : stable_matching(m.producers, m.consumers)) {
      EXPECT_TRUE(seen.insert(pair.producer).second);
      EXPECT_TRUE(seen.insert(pair.consumer).second);
      const auto& p = m.producers[static_cast<std::size_t>(pair.producer.model)];
      const auto& c = m.consumers[static_cast<std::size_t>(pair.consumer.model - 100)];
      EXPECT_EQ(pair.bytes, std::min(p.bytes, c.bytes));
    }
  }
}

Bytes best_by_trying_all(const Market& m) {
  std::vector<bool> taken(m.producers.size());
  const std::function<Bytes(std::size_t)> best = [&](std::size_t c) -> Bytes {
    if (c == m.consumers.size()) return 0;
    Bytes most = best(c + 1);
    for (std::size_t p = 0; p < m.producers.size(); ++p) {
      if (taken[p]) continue;
      taken[p] = true;
      most = std::max(most, std::min(m.producers[p].bytes, m.consumers[c].bytes) + best(c + 1));
      taken[p] = false;
    }
    return most;
  };
  return best(0);
}

TEST(Matching, ServesAsMuchAsTheLargestOfAllMatchings) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const Market m = random_market(random, 5);
    Bytes served = 0;
    for (const Pair& pair : stable_matching(m.producers, m.consumers)) served += pair.bytes;
    std::vector<Bytes> offers;
    std::vector<Bytes> needs;
    for (const Party& p : m.producers) offers.push_back(p.bytes);
    for (const Party& c : m.consumers) needs.push_back(c.bytes);
    const Bytes largest = largest_matching(offers, needs);
    ASSERT_EQ(largest, best_by_trying_all(m)) << round;
    ASSERT_EQ(served, largest) << round;
  }
}

TEST(Matching, AConsumerPrefersTheFasterLinkAndThenTheSmallerId) {
  const std::vector<Party> producers{{{0, 0}, 50, 100}, {{1, 0}, 50, 300}, {{2, 0}, 50, 300}};
  const std::vector<Party> consumers{{{9, 0}, 40, 400}};
  const auto pairs = stable_matching(producers, consumers);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].producer, (ShardRef{1, 0}));
  EXPECT_EQ(pairs[0].bytes, 40);
}

TEST(Matching, PairsFormInsideADomainOnly) {
  Problem problem;
  problem.servers = {{"a", 1, 80, "rack"}, {"b", 1, 80, "rack"}, {"c", 2, 80}};
  problem.models = {{"lends", 1, 30}, {"borrows", 1, -20}, {"alone", 1, -20}};
  const auto cluster = Cluster::make(problem);
  ASSERT_TRUE(cluster.ok());
  const auto pairs = match(*cluster, {0, 1, 2});
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].producer, (ShardRef{0, 0}));
  EXPECT_EQ(pairs[0].consumer, (ShardRef{1, 0}));
}

}  // namespace
}  // namespace aqua::place
