// SPDX-License-Identifier: Apache-2.0
// What every policy promises, over 10,000 random and adversarial sequences: Cluster holds each plan
// to it, counting by itself.
#include <string>
#include <vector>

#include "tests/systems/packing/cluster.hpp"

namespace aqua::packing::test {
namespace {

class Policies : public ::testing::TestWithParam<std::string> {
 protected:
  Cluster cluster(const PackerOptions& options) {
    Cluster::Packers one;
    one.push_back(make_packer(GetParam(), options).value());
    return {std::move(one), options};
  }
};

TEST_P(Policies, NoEngineGetsWhatItHasNoRoomFor) {
  for (std::uint64_t seed = 1; seed <= 1700 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PackerOptions options{.watermark = seed % 3 == 0 ? 0 : 0.08,
                                .max_moves = 1 + static_cast<std::uint32_t>(seed % 13),
                                .max_move_tokens = seed % 7 == 0 ? 500U : 0U,
                                .reserve = seed % 9 == 0,
                                .block_tokens = seed % 2 == 0 ? 16U : 1U};
    Cluster engines = cluster(options);
    play(engines, {.seed = seed,
                   .epochs = 8,
                   .capacities_differ = seed % 5 == 1,
                   .prefixes = seed % 4 == 2,
                   .engines_change = seed % 2 == 1,
                   .moves_take_time = seed % 3 == 1,
                   .arrivals = 7,
                   .lives = 4,
                   .growth = 40,
                   .sizes = static_cast<int>(seed % 4)});
  }
}

TEST_P(Policies, TheSameCallsGiveTheSameAnswers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const PackerOptions options{.block_tokens = 1};
    Cluster::Packers three;
    for (int i = 0; i < 3; ++i) three.push_back(make_packer(GetParam(), options).value());
    Cluster engines(std::move(three), options);
    play(engines, {.seed = seed, .prefixes = true, .engines_change = true, .sizes = 3});
  }
}

TEST_P(Policies, WithoutEventsPlansComeToAnEnd) {
  for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PackerOptions options{.watermark = 0.05, .block_tokens = 1};
    Cluster engines = cluster(options);
    play(engines, {.seed = seed,
                   .capacities_differ = seed % 3 == 1,
                   .prefixes = seed % 4 == 2,
                   .sizes = static_cast<int>(seed % 4)});
    engines.settle(60);
    EXPECT_TRUE(engines.epoch().moves.empty()) << "requests go to and fro";
  }
}

TEST_P(Policies, AnEngineThatDrainsIsEmptied) {
  if (GetParam() == "bf" || GetParam() == "wf") return;  // their requests end where they are
  const PackerOptions options{.watermark = 0, .max_moves = 2, .block_tokens = 1};
  Cluster engines = cluster(options);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(engines.join({.id = EngineId{id}, .kv_tokens = 1000}));
  }
  for (std::uint64_t id = 1; id <= 7; ++id) {
    ASSERT_TRUE(engines.arrive({.id = RequestId{id}, .tokens = 120}));
  }
  engines.settle();
  const EngineId full = engines.requests().at(RequestId{1}).engine;
  ASSERT_TRUE(engines.drain(full));
  EXPECT_FALSE(engines.gone(full)) << "with requests on it";
  engines.settle();
  EXPECT_EQ(engines.held(full), 0U);
  EXPECT_EQ(engines.epoch().drained, std::vector<EngineId>{full});
  EXPECT_TRUE(engines.gone(full));
}

// The largest may be more than an epoch moves, or have nowhere to go: the others leave all the
// same.
TEST_P(Policies, AnEngineDrainsThoughItsLargestRequestIsStuckOrAboveTheLimit) {
  if (GetParam() == "bf" || GetParam() == "wf") return;
  const PackerOptions options{.watermark = 0, .max_move_tokens = 400, .block_tokens = 1};
  for (const bool fits : {false, true}) {
    Cluster engines = cluster(options);
    ASSERT_TRUE(engines.join({.id = EngineId{1}, .kv_tokens = 1000}));
    ASSERT_TRUE(engines.arrive({.id = RequestId{1}, .tokens = 900}));
    ASSERT_TRUE(engines.arrive({.id = RequestId{2}, .tokens = 100}));
    ASSERT_TRUE(engines.join({.id = EngineId{2}, .kv_tokens = fits ? 1000U : 500U}));
    ASSERT_TRUE(engines.drain(EngineId{1}));
    engines.settle();
    EXPECT_EQ(engines.held(EngineId{1}), fits ? 0U : 900U);
  }
}

TEST_P(Policies, WhatIsReservedIsNotCopied) {
  if (GetParam() == "bf" || GetParam() == "wf") return;
  const PackerOptions options{.watermark = 0, .reserve = true, .block_tokens = 1};
  Cluster engines = cluster(options);
  ASSERT_TRUE(engines.join({.id = EngineId{1}, .kv_tokens = 1000}));
  ASSERT_TRUE(engines.arrive({.id = RequestId{1}, .tokens = 10, .max_new = 400}));
  ASSERT_TRUE(engines.join({.id = EngineId{2}, .kv_tokens = 2000}));
  ASSERT_TRUE(engines.drain(EngineId{1}));
  const Plan& plan = engines.epoch();
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].tokens, 10U);
  EXPECT_EQ(engines.held(EngineId{2}), 410U);
}

// Both may arrive first, or alone.
TEST_P(Policies, TwoThatMoveTogetherBothBringTheirPrefix) {
  if (GetParam() == "bf" || GetParam() == "wf") return;
  const PackerOptions options{.watermark = 0, .block_tokens = 1};
  Cluster engines = cluster(options);
  ASSERT_TRUE(engines.join({.id = EngineId{1}, .kv_tokens = 1000}));
  for (const std::uint64_t id : {1U, 2U}) {
    ASSERT_TRUE(engines.arrive(
        {.id = RequestId{id}, .tokens = 300, .prefix = PrefixId{7}, .prefix_tokens = 200}));
  }
  ASSERT_TRUE(engines.join({.id = EngineId{2}, .kv_tokens = 1000}));
  ASSERT_TRUE(engines.drain(EngineId{1}));
  const Plan& plan = engines.epoch();
  ASSERT_EQ(plan.moves.size(), 2U);
  for (const Move& move : plan.moves) EXPECT_EQ(move.tokens, 300U);
  EXPECT_EQ(engines.held(EngineId{2}), 400U) << "there is room for one";
}

TEST_P(Policies, APrefixIsFoundBesideEnginesThatDrain) {
  const PackerOptions options{.watermark = 0, .max_moves = 1, .block_tokens = 1};
  Cluster engines = cluster(options);
  for (std::uint64_t id = 1; id <= 10; ++id) {
    ASSERT_TRUE(engines.join({.id = EngineId{id}, .kv_tokens = 1000}));
  }
  const auto come = [&](std::uint64_t id, std::uint64_t tokens) {
    ASSERT_TRUE(engines.arrive(
        {.id = RequestId{id}, .tokens = tokens, .prefix = PrefixId{7}, .prefix_tokens = 600}));
  };
  for (std::uint64_t id = 1; id <= 8; ++id) come(id, 1000);
  come(9, 700);
  for (std::uint64_t id = 1; id <= 8; ++id) ASSERT_TRUE(engines.drain(EngineId{id}));
  come(10, 700);
  EXPECT_EQ(engines.requests().at(RequestId{10}).engine, EngineId{9});
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

INSTANTIATE_TEST_SUITE_P(Each, Policies, ::testing::ValuesIn(packer_names()), name_of);

}  // namespace
}  // namespace aqua::packing::test
