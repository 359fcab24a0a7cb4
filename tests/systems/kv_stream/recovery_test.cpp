// SPDX-License-Identifier: Apache-2.0
// A small pipeline is broken at random and put together by the plan: it has to go on with the
// tokens that it would have made.
#include "aqua/kv_stream/recovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace aqua::kv_stream::test {
namespace {

using Ids = std::vector<std::uint64_t>;

// KV of a position is what its stage makes of the id there; the next id depends on every KV of
// every stage, so that one wrong entry shows.
std::uint64_t kv_of(std::uint32_t stage, std::uint64_t id) {
  return id * 6364136223846793005ULL + stage * 1442695040888963407ULL + 1;
}
std::uint64_t next_id(const std::vector<Ids>& kv) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const Ids& stage : kv) {
    for (const std::uint64_t entry : stage) hash = (hash ^ entry) * 1099511628211ULL;
  }
  return hash >> 8;
}
// Computes the positions of `ids` that have no KV yet, then `more` new tokens.
Ids generate(std::vector<Ids> kv, Ids ids, std::size_t more) {
  const std::size_t until = ids.size() + more;
  while (ids.size() < until) {
    for (std::uint32_t stage = 0; stage < kv.size(); ++stage) {
      while (kv[stage].size() < ids.size()) {
        kv[stage].push_back(kv_of(stage, ids[kv[stage].size()]));
      }
    }
    ids.push_back(next_id(kv));
  }
  return ids;
}

struct World {
  RecoveryInput input;
  std::vector<Ids> prompts, answers;  // what was delivered of them, and what would come
  // By sequence: what lies in each stage, and in each replica, in the input's order. Beyond what
  // was delivered it is of ids that nobody has seen, and must not be used.
  std::vector<std::vector<Ids>> cached, replicas;
};

constexpr std::size_t kAnswer = 12;

World random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  World world;
  RecoveryInput& in = world.input;
  const std::uint32_t stages = 1 + below(4);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    in.lost_workers.push_back(below(3) == 0);
    in.lost_keepers.push_back(below(4) == 0);
    in.token_bytes.push_back(1 + below(100));
  }
  in.link_bytes_per_second = 1 + below(200);
  in.prefill_seconds_per_token = 1.0 / (1 + below(8));
  in.reads_first = below(3) == 0;
  const std::uint32_t sequences = below(8);
  for (std::uint32_t i = 0; i < sequences; ++i) {
    Ids prompt(1 + below(8));
    for (std::uint64_t& id : prompt) id = random();
    const std::uint32_t delivered = below(kAnswer);
    const Ids all = generate(std::vector<Ids>(stages), prompt, kAnswer);
    Ids seen(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(prompt.size() + delivered));
    for (int unseen = 0; unseen < 3; ++unseen) seen.push_back(random());
    const auto some_kv = [&](std::uint32_t stage) {
      Ids kv;
      for (std::size_t n = below(seen.size() + 1); kv.size() < n;) {
        kv.push_back(kv_of(stage, seen[kv.size()]));
      }
      return kv;
    };
    SequenceState state{.sequence = 100 + i,
                        .prompt_tokens = static_cast<std::uint32_t>(prompt.size()),
                        .delivered = delivered};
    world.cached.emplace_back();
    world.replicas.emplace_back();
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      world.cached.back().push_back(some_kv(stage));
      state.cached.push_back(static_cast<std::uint32_t>(world.cached.back().back().size()));
      for (std::uint32_t copies = below(3); copies > 0; --copies) {
        world.replicas.back().push_back(some_kv(stage));
        state.replicas.push_back({stage, below(stages),
                                  static_cast<std::uint32_t>(world.replicas.back().back().size())});
      }
    }
    in.sequences.push_back(state);
    world.prompts.push_back(prompt);
    world.answers.push_back(all);
  }
  return world;
}

std::size_t index_of(const RecoveryInput& in, std::uint64_t sequence) {
  const auto found = std::ranges::find(in.sequences, sequence, &SequenceState::sequence);
  EXPECT_NE(found, in.sequences.end());
  return static_cast<std::size_t>(found - in.sequences.begin());
}

// What lies in the stages once the plan has been followed.
std::vector<Ids> followed(const World& world, std::size_t i, const Resumed& resumed) {
  std::vector<Ids> kv = world.cached[i];
  const SequenceState& state = world.input.sequences[i];
  for (std::uint32_t stage = 0; stage < kv.size(); ++stage) {
    if (world.input.lost_workers[stage]) kv[stage].clear();
  }
  for (const Replica& read : resumed.reads) {
    EXPECT_LT(kv[read.stage].size(), resumed.from) << "nothing else is read";
    EXPECT_FALSE(world.input.lost_keepers[read.keeper]);
    EXPECT_EQ(read.tokens, resumed.from);
    for (std::size_t r = 0; r < state.replicas.size(); ++r) {
      const Replica& replica = state.replicas[r];
      const Ids& bytes = world.replicas[i][r];
      if (replica.stage != read.stage || replica.keeper != read.keeper) continue;
      if (bytes.size() > kv[read.stage].size()) kv[read.stage] = bytes;
    }
  }
  for (Ids& stage : kv) {
    EXPECT_GE(stage.size(), resumed.from);
    stage.resize(std::min<std::size_t>(stage.size(), resumed.from));
  }
  return kv;
}

TEST(RecoveryProperty, EverySequenceGoesOnWithTheTokensThatItWouldHaveMade) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const World world = random_world(seed);
    const auto plan = plan_recovery(world.input);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_EQ(plan->sequences.size(), world.input.sequences.size()) << seed;
    for (const Resumed& resumed : plan->sequences) {
      const std::size_t i = index_of(world.input, resumed.sequence);
      const SequenceState& state = world.input.sequences[i];
      ASSERT_EQ(resumed.known, state.prompt_tokens + state.delivered) << seed;
      ASSERT_LT(resumed.from, resumed.known) << seed << ": a token is left to be computed";
      Ids ids(world.answers[i].begin(), world.answers[i].begin() + resumed.known);
      const Ids went_on = generate(followed(world, i, resumed), ids, kAnswer - state.delivered);
      ASSERT_EQ(went_on, world.answers[i]) << "seed " << seed << ", sequence " << resumed.sequence;
    }
  }
}

// The same costs, reckoned by themselves; by `anew`, the sequences that are computed from token 0.
double seconds_with(const RecoveryInput& in, const std::vector<bool>& anew) {
  std::vector<double> links(in.lost_workers.size());
  double computing = 0;
  for (std::size_t i = 0; i < in.sequences.size(); ++i) {
    const SequenceState& state = in.sequences[i];
    std::uint32_t from = state.prompt_tokens + state.delivered - 1;
    const auto has = [&](std::uint32_t stage) {
      return in.lost_workers[stage] ? 0 : state.cached[stage];
    };
    for (std::uint32_t stage = 0; stage < links.size(); ++stage) {
      std::uint32_t there = has(stage);
      for (const Replica& replica : state.replicas) {
        if (replica.stage == stage && !in.lost_keepers[replica.keeper])
          there = std::max(there, replica.tokens);
      }
      from = std::min(from, there);
    }
    if (anew[i]) from = 0;
    computing += in.prefill_seconds_per_token * (state.prompt_tokens + state.delivered - from);
    for (std::uint32_t stage = 0; stage < links.size(); ++stage) {
      if (has(stage) >= from) continue;
      links[stage] += from * static_cast<double>(in.token_bytes[stage]) / in.link_bytes_per_second;
    }
  }
  const double busiest = std::ranges::max(links);
  return in.reads_first ? busiest + computing : std::max(computing, busiest);
}

// Which sequences read something where all that can be is.
std::vector<bool> has_reads(RecoveryInput in) {
  in.link_bytes_per_second = 1e18;
  in.reads_first = false;
  const auto plan = plan_recovery(in);
  std::vector<bool> reads(in.sequences.size());
  for (const Resumed& resumed : plan->sequences)
    reads[index_of(in, resumed.sequence)] = !resumed.reads.empty();
  return reads;
}

TEST(RecoveryProperty, IsShorterThanReadingAllAndNearTheBestOfAllChoices) {
  int split = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const RecoveryInput in = random_world(seed).input;
    const auto plan = plan_recovery(in);
    ASSERT_TRUE(plan.ok());
    const std::size_t n = in.sequences.size();
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t choice = 0; choice < 1U << n; ++choice) {
      std::vector<bool> anew(n);
      for (std::size_t i = 0; i < n; ++i) anew[i] = ((choice >> i) & 1) != 0;
      best = std::min(best, seconds_with(in, anew));
    }
    std::vector<bool> chosen(n);
    double largest = 0;
    std::size_t reads = 0;
    for (const Resumed& resumed : plan->sequences) {
      const std::size_t i = index_of(in, resumed.sequence);
      chosen[i] = resumed.from == 0;
      reads += resumed.reads.empty() ? 0U : 1U;
      RecoveryInput alone = in;
      alone.sequences = {in.sequences[i]};
      largest = std::max({largest, seconds_with(alone, {false}), seconds_with(alone, {true})});
    }
    if (reads > 0 && std::ranges::count(chosen, true) > 0) ++split;
    EXPECT_NEAR(plan->seconds, seconds_with(in, chosen), 1e-9) << seed;
    EXPECT_LE(plan->seconds, seconds_with(in, std::vector<bool>(n)) + 1e-9) << seed;
    EXPECT_LE(plan->seconds, best + largest + 1e-9) << seed;
    EXPECT_NEAR(plan->seconds_if_read, seconds_with(in, std::vector<bool>(n)), 1e-9) << seed;
    EXPECT_NEAR(plan->seconds_if_computed, seconds_with(in, has_reads(in)), 1e-9) << seed;
    EXPECT_LE(plan->seconds, plan->seconds_if_read + 1e-9) << seed;
    EXPECT_LE(plan->seconds, plan->seconds_if_computed + 1e-9) << seed;
  }
  EXPECT_GT(split, 100) << "links and devices are used side by side in some";
}

RecoveryInput two_stages() {
  RecoveryInput in{.lost_workers = {false, true},
                   .lost_keepers = {false, true},
                   .token_bytes = {10, 10},
                   .sequences = {},
                   .link_bytes_per_second = 1000,
                   .prefill_seconds_per_token = 1};
  in.sequences.push_back({.sequence = 7,
                          .prompt_tokens = 100,
                          .delivered = 50,
                          .cached = {149, 149},
                          .replicas = {{1, 0, 140}, {0, 1, 140}}});
  return in;
}

TEST(Recovery, ReadsTheLostStageUpToItsWatermarkAndComputesTheRestFromKnownTokens) {
  const auto plan = plan_recovery(two_stages());
  ASSERT_TRUE(plan.ok());
  const Resumed wanted{.sequence = 7, .from = 140, .known = 150, .reads = {{1, 0, 140}}};
  EXPECT_EQ(plan->sequences.at(0), wanted);
  EXPECT_DOUBLE_EQ(plan->link_seconds, 1.4);
  EXPECT_DOUBLE_EQ(plan->compute_seconds, 10);
}

TEST(Recovery, WithoutAReplicaOfALostStageComputesTheSequenceFromItsFirstToken) {
  RecoveryInput in = two_stages();
  in.lost_keepers[0] = true;  // two deaths
  const auto plan = plan_recovery(in);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->sequences.at(0), (Resumed{.sequence = 7, .from = 0, .known = 150}));
}

TEST(Recovery, OfAKeeperAloneStopsNoSequence) {
  RecoveryInput in = two_stages();
  in.lost_workers[1] = false;
  const auto plan = plan_recovery(in);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->sequences.at(0), (Resumed{.sequence = 7, .from = 149, .known = 150}));
  EXPECT_EQ(plan->link_seconds, 0);
}

TEST(Recovery, OfAWorkerThatHadNotReadAllWhenTheNextOneDiedReadsAgain) {
  RecoveryInput in = two_stages();
  in.lost_workers = {false, false};
  in.lost_keepers = {false, false};
  in.sequences[0].cached = {149, 30};
  const auto plan = plan_recovery(in);
  ASSERT_TRUE(plan.ok());
  const Resumed wanted{.sequence = 7, .from = 140, .known = 150, .reads = {{1, 0, 140}}};
  EXPECT_EQ(plan->sequences.at(0), wanted);
  EXPECT_DOUBLE_EQ(plan->link_seconds, 1.4);
}

TEST(Recovery, OfAPromptThatWasBeingPrefilledGoesOnBehindItsReplica) {
  RecoveryInput in = two_stages();
  in.sequences[0].delivered = 0;
  in.sequences[0].cached = {64, 64};
  in.sequences[0].replicas = {{1, 0, 48}};
  const auto plan = plan_recovery(in);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->sequences.at(0).from, 48U);
  EXPECT_EQ(plan->sequences.at(0).known, 100U);
}

void refuses(const RecoveryInput& in, const std::string& words) {
  const auto plan = plan_recovery(in);
  ASSERT_FALSE(plan.ok()) << words;
  EXPECT_EQ(plan.error().code, Code::invalid_argument);
  EXPECT_NE(plan.error().message.find(words), std::string::npos) << plan.error().message;
}

TEST(Recovery, RefusesWhatCannotBeAndNamesIt) {
  const auto with = [](auto change) {
    RecoveryInput in = two_stages();
    change(in);
    return in;
  };
  refuses({}, "lost_workers is empty");
  refuses(with([](auto& in) { in.lost_keepers.pop_back(); }), "lost_keepers has 1");
  refuses(with([](auto& in) { in.token_bytes.push_back(1); }), "token_bytes has 3");
  refuses(with([](auto& in) { in.link_bytes_per_second = 0; }), "link_bytes_per_second is 0");
  refuses(with([](auto& in) { in.prefill_seconds_per_token = std::nan(""); }),
          "prefill_seconds_per_token is nan");
  refuses(with([](auto& in) { in.sequences.push_back(in.sequences[0]); }), "7 is named twice");
  refuses(with([](auto& in) { in.sequences[0].prompt_tokens = 0; }), "7: prompt_tokens is 0");
  refuses(with([](auto& in) { in.sequences[0].delivered = UINT32_MAX; }), "7: more than");
  refuses(with([](auto& in) { in.sequences[0].cached.pop_back(); }), "7: cached has 1");
  refuses(with([](auto& in) { in.sequences[0].replicas[0].stage = 2; }), "a replica of stage 2");
  refuses(with([](auto& in) { in.sequences[0].replicas[0].keeper = 9; }), "with keeper 9");
}

}  // namespace
}  // namespace aqua::kv_stream::test
