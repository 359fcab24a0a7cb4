// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/token_map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace aqua::kv_stream {
namespace {

constexpr std::uint32_t kTokens = 24;
using ByToken = std::array<std::uint64_t, kTokens>;  // the pack of each; 0: none

std::vector<TokenMap::Piece> pieces_of(const ByToken& tokens) {
  std::vector<TokenMap::Piece> pieces;
  for (std::uint32_t i = 0; i < kTokens; ++i) {
    if (tokens[i] == 0) continue;
    const bool goes_on = i > 0 && tokens[i - 1] == tokens[i];
    if (goes_on) {
      ++pieces.back().span.end;
    } else {
      pieces.push_back({{i, i + 1}, tokens[i]});
    }
  }
  return pieces;
}

TEST(TokenMap, IsWhatAnArrayOfTokensWouldBe) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    TokenMap map;
    ByToken naive{};
    for (int step = 0; step < 30; ++step) {
      const auto first = static_cast<std::uint32_t>(random() % kTokens);
      const TokenSpan span{first, first + static_cast<std::uint32_t>(random() % 9)};
      const std::uint64_t pack = random() % 4;
      if (pack == 0) {
        map.erase(span);
      } else if (span.end <= kTokens) {
        map.assign(span, pack);
      } else {
        continue;
      }
      for (std::uint32_t i = span.first; i < std::min(span.end, kTokens); ++i) naive[i] = pack;
      const auto pieces = pieces_of(naive);
      ASSERT_EQ(map.pieces(), pieces);
      for (std::uint32_t i = 0; i < kTokens; ++i) {
        const auto* const at = map.at(i);
        ASSERT_EQ(at == nullptr ? 0 : at->pack, naive[i]);
        std::uint32_t next = UINT32_MAX;
        for (const auto& piece : pieces) {
          if (piece.span.first > i) next = std::min(next, piece.span.first);
        }
        ASSERT_EQ(map.next_begin(i), next);
      }
    }
  }
}

}  // namespace
}  // namespace aqua::kv_stream
