// SPDX-License-Identifier: Apache-2.0
// A decision costs about as much in a large fleet as in a small one, in entries looked at.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "aqua/packing/packer.hpp"

namespace aqua::packing::test {
namespace {

class Scale : public ::testing::TestWithParam<std::string> {};

// Entries that an arrival, an end, growth and a plan look at, with 100 requests an engine.
double looked_at(const std::string& policy, std::uint64_t engines) {
  auto packer = make_packer(policy, {.block_tokens = 1}).value();
  for (std::uint64_t id = 1; id <= engines + engines / 4 + 4; ++id) {
    EXPECT_TRUE(packer->join({.id = EngineId{id}, .kv_tokens = 15'500}).ok());
  }
  std::mt19937_64 random(1);
  const auto size = [&] { return 1 + (random() % 40 == 0 ? random() % 3000 : random() % 200); };
  std::uint64_t next = 0, first = 0;
  std::vector<std::uint64_t> tokens;
  const auto come = [&] {
    tokens.push_back(size());
    EXPECT_TRUE(packer->arrive({.id = RequestId{++next}, .tokens = tokens.back()}).ok());
  };
  for (std::uint64_t i = 0; i < 100 * engines; ++i) come();
  const auto plan = [&] {
    const Plan& is = packer->epoch();
    for (const Move& move : is.moves) EXPECT_TRUE(packer->moved(move.request, is.number).ok());
  };
  for (int i = 0; i < 5; ++i) plan();
  const std::uint64_t before = packer->status().looked_at;
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) {
    come();
    EXPECT_TRUE(packer->ended(RequestId{++first}).ok());
    const std::uint64_t who = first + 1 + random() % (next - first);
    tokens[who - 1] += 20;
    EXPECT_TRUE(packer->grew(RequestId{who}, tokens[who - 1]).ok());
    plan();
  }
  return static_cast<double>(packer->status().looked_at - before) / kRounds;
}

TEST_P(Scale, AHundredTimesTheFleetCostsFourTimesTheEntriesAtMost) {
  const double small = looked_at(GetParam(), 10), large = looked_at(GetParam(), 1000);
  EXPECT_LE(large, 4 * small + 4) << small << " entries, then " << large;
  RecordProperty("small", std::to_string(small));
  RecordProperty("large", std::to_string(large));
}

INSTANTIATE_TEST_SUITE_P(Each, Scale, ::testing::ValuesIn(packer_names()),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace aqua::packing::test
