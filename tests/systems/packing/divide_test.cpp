// SPDX-License-Identifier: Apache-2.0
#include "aqua/packing/divide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace aqua::packing::test {
namespace {

// Three servers of four engines; `tokens` may be computed anew by each engine.
Boundaries boundaries_of(std::uint64_t fabric, std::uint64_t uplink, std::uint64_t tokens) {
  Boundaries all;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    all.engines[EngineId{id}] = {ServerId{(id - 1) / 4}, fabric, fabric, tokens};
  }
  for (std::uint64_t id = 0; id < 3; ++id) all.servers[ServerId{id}] = {uplink, uplink};
  return all;
}

Move move_of(std::uint64_t id, std::uint64_t from, std::uint64_t to, std::uint64_t tokens,
             std::uint32_t stage = 0) {
  return {.request = RequestId{id},
          .from = EngineId{from},
          .to = EngineId{to},
          .tokens = tokens,
          .bytes = 10 * tokens,
          .stage = stage};
}

TEST(Divide, TakesTheWayThatLeavesMore) {
  const std::vector<Move> moves{move_of(1, 1, 2, 50), move_of(2, 1, 5, 50)};
  const auto ways = divide(moves, boundaries_of(10'000, 600, 500)).value();
  EXPECT_EQ(ways[0], SendAs::kv) << "a twentieth of the fabric, a tenth of the tokens";
  EXPECT_EQ(ways[1], SendAs::tokens) << "five sixths of the uplink";
}

TEST(Divide, WhatFitsNoBoundaryGoesLaterAndSoDoesWhatWaitsForItsRoom) {
  const std::vector<Move> moves{move_of(1, 1, 2, 300), move_of(2, 3, 1, 10, 1),
                                move_of(3, 4, 3, 10, 2), move_of(4, 6, 7, 10, 1)};
  const auto ways = divide(moves, boundaries_of(1000, 1000, 200)).value();
  EXPECT_EQ(ways[0], SendAs::later);
  EXPECT_EQ(ways[1], SendAs::later);
  EXPECT_EQ(ways[2], SendAs::later) << "in turn";
  EXPECT_NE(ways[3], SendAs::later);
}

TEST(Divide, WhatWasDroppedGoesAsTokens) {
  std::vector<Move> moves{move_of(1, 1, 2, 50)};
  moves[0].dropped = true;
  const Boundaries wide = boundaries_of(100'000, 100'000, 60);
  EXPECT_EQ(divide(moves, wide).value()[0], SendAs::tokens);
  EXPECT_EQ(divide(moves, wide, Allowed::kv_only).value()[0], SendAs::tokens);
  EXPECT_EQ(divide(moves, boundaries_of(100'000, 100'000, 40)).value()[0], SendAs::later);
}

TEST(Divide, WhatWasDroppedMakesRoomThoughItGoesLater) {
  std::vector<Move> moves{move_of(1, 1, 2, 300), move_of(2, 3, 1, 10, 1)};
  moves[0].dropped = true;
  const auto ways = divide(moves, boundaries_of(1000, 1000, 200)).value();
  EXPECT_EQ(ways[0], SendAs::later);
  EXPECT_NE(ways[1], SendAs::later);
}

TEST(Divide, WhoHasNoBoundaryIsNamed) {
  Boundaries all = boundaries_of(10, 10, 10);
  const std::vector<Move> stranger{move_of(1, 1, 13, 1)};
  EXPECT_NE(divide(stranger, all).error().message.find("engine 13"), std::string::npos);
  all.servers.erase(ServerId{1});
  const std::vector<Move> homeless{move_of(1, 1, 5, 1)};
  const auto refused = divide(homeless, all);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("server 1"), std::string::npos);
}

// 25 GB/s within a server and 1.25 GB/s between them for a fifth of a second, 800 KB a token.
TEST(Divide, NoBoundaryIsExceededAndFewerMovesWaitThanByEitherWayAlone) {
  std::uint64_t later[3] = {};
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    const Boundaries all = boundaries_of(5'000'000'000, 250'000'000, 1024);
    std::vector<Move> moves;
    for (std::uint64_t id = 1; id <= 12; ++id) {
      const std::uint64_t from = 1 + random() % 12, to = 1 + (from + random() % 11) % 12;
      Move move = move_of(id, from, to == from ? 1 + to % 12 : to, 100 + random() % 1500);
      move.bytes = move.tokens * 800'000;
      moves.push_back(move);
    }
    int way = 0;
    for (const Allowed allowed : {Allowed::both, Allowed::kv_only, Allowed::tokens_only}) {
      const auto ways = divide(moves, all, allowed).value();
      std::map<EngineId, std::uint64_t> in, out, prefill;
      std::map<ServerId, std::uint64_t> far_in, far_out;
      for (std::size_t i = 0; i < moves.size(); ++i) {
        const ServerId from = all.engines.at(moves[i].from).server;
        const ServerId to = all.engines.at(moves[i].to).server;
        if (ways[i] == SendAs::tokens) prefill[moves[i].to] += moves[i].tokens;
        if (ways[i] != SendAs::kv) continue;
        in[moves[i].to] += moves[i].bytes;
        out[moves[i].from] += moves[i].bytes;
        if (from == to) continue;
        far_in[to] += moves[i].bytes;
        far_out[from] += moves[i].bytes;
      }
      for (const auto& [id, is] : all.engines) {
        EXPECT_LE(in[id], is.bytes_in);
        EXPECT_LE(out[id], is.bytes_out);
        EXPECT_LE(prefill[id], is.prefill_tokens);
      }
      for (const auto& [id, is] : all.servers) {
        EXPECT_LE(far_in[id], is.bytes_in);
        EXPECT_LE(far_out[id], is.bytes_out);
      }
      later[way++] +=
          static_cast<std::uint64_t>(std::count(ways.begin(), ways.end(), SendAs::later));
    }
  }
  EXPECT_LE(4 * later[0], 3 * later[1]) << later[0] << " and " << later[1] << " by KV alone";
  EXPECT_LE(4 * later[0], 3 * later[2]) << later[0] << " and " << later[2] << " by tokens alone";
}

}  // namespace
}  // namespace aqua::packing::test
