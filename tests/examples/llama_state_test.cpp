// SPDX-License-Identifier: Apache-2.0
// What llama.cpp's saved sequences look like: written here by hand, field by field.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "must.hpp"
#include "state_view.hpp"

namespace aqua::llama_example {
namespace {

constexpr std::uint32_t kCells = 3;
constexpr std::uint32_t kLayers = 2;
constexpr std::uint64_t kRow = 4;

class State {
 public:
  template <typename T>
  State& put(T value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(&bytes[at], &value, sizeof value);
    return *this;
  }
  State& head(std::uint32_t streams) {
    return put(std::uint32_t{0x67677371}).put(std::int32_t{1}).put(streams);
  }
  State& cells(std::uint32_t sequences_each) {
    put(kCells);
    for (std::int32_t i = 0; i < std::int32_t{kCells}; ++i) {
      put(i).put(sequences_each);
      for (std::uint32_t s = 0; s < sequences_each; ++s) put(std::int32_t{1});
    }
    return *this;
  }
  State& planes(std::uint64_t row, char first) {
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      put(std::int32_t{1}).put(row);
      for (std::uint64_t i = 0; i < kRow * kCells; ++i) put(static_cast<char>(first + char(layer)));
    }
    return *this;
  }
  std::vector<std::byte> bytes;
};

State good() {
  State state;
  state.head(2).put(std::uint32_t{0}).cells(1).put(std::uint32_t{0}).put(kLayers);
  return state.planes(kRow, 'k').planes(kRow, 'v');
}

std::string complaint(const State& state) {
  try {
    (void)StateView::of(state.bytes);
  } catch (const example::Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(LlamaState, RowsOfEveryLayerAreFound) {
  const State state = good();
  const StateView view = StateView::of(state.bytes);
  EXPECT_EQ(view.tokens, kCells);
  ASSERT_EQ(view.keys.size(), kLayers);
  ASSERT_EQ(view.values.size(), kLayers);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    for (std::size_t i = 0; i < kRow * kCells; ++i) {
      EXPECT_EQ(char(state.bytes[view.keys[layer].offset + i]), char('k' + layer));
      EXPECT_EQ(char(state.bytes[view.values[layer].offset + i]), char('v' + layer));
    }
    EXPECT_EQ(view.keys[layer].row_bytes, kRow);
  }
}

TEST(LlamaState, AnEmptyStateIsOneOfSoManyTokensAndNothingElseDiffers) {
  const State state = good();
  std::vector<std::byte> same = empty_state(state.bytes, kCells);
  const StateView view = StateView::of(same);
  for (const auto* planes : {&view.keys, &view.values}) {
    for (const StatePlane& plane : *planes) {
      std::memcpy(&same[plane.offset], &state.bytes[plane.offset], kRow * kCells);
    }
  }
  EXPECT_EQ(same, state.bytes);
  const std::vector<std::byte> longer = empty_state(state.bytes, 50);
  EXPECT_EQ(StateView::of(longer).tokens, 50U);
  EXPECT_EQ(StateView::of(longer).positions.back(), 49);
  EXPECT_EQ(StateView::of(longer).values.back().row_bytes, kRow);
}

TEST(LlamaState, RowsOfTokensInAnyOrderAreTold) {
  State state = good();
  const StateView view = StateView::of(state.bytes);
  EXPECT_EQ(view.positions, (std::vector<std::int32_t>{0, 1, 2}));
  std::byte* const cells = &state.bytes[view.cells_at + sizeof kCells];
  constexpr std::size_t kCell = 12;
  std::swap_ranges(cells, cells + 4, cells + 2 * kCell);
  EXPECT_EQ(StateView::of(state.bytes).positions, (std::vector<std::int32_t>{2, 1, 0}));
  std::memcpy(cells, cells + kCell, 4);
  EXPECT_NE(complaint(state).find("position 1 of 3 tokens"), std::string::npos);
}

TEST(LlamaState, EveryTruncationIsRefused) {
  State state = good();
  while (!state.bytes.empty()) {
    state.bytes.pop_back();
    EXPECT_NE(complaint(state), "") << state.bytes.size();
  }
}

TEST(LlamaState, WhatItDoesNotKnowIsRefused) {
  State longer = good();
  EXPECT_NE(complaint(longer.put(char{0})).find("longer"), std::string::npos);
  State shared;
  EXPECT_NE(complaint(shared.head(1).cells(2)).find("several sequences"), std::string::npos);
  State transposed;
  EXPECT_NE(complaint(transposed.head(1).cells(1).put(std::uint32_t{1})).find("transposed"),
            std::string::npos);
  State twice;
  twice.head(2).cells(1).put(std::uint32_t{0}).put(kLayers).planes(kRow, 'k').planes(kRow, 'v');
  EXPECT_NE(complaint(twice.cells(1)).find("two streams"), std::string::npos);
  State huge;
  huge.head(1).cells(1).put(std::uint32_t{0}).put(kLayers).planes(UINT64_MAX / 2, 'k');
  EXPECT_NE(complaint(huge).find("a row of"), std::string::npos);
  State empty;
  EXPECT_NE(complaint(empty.head(1).put(std::uint32_t{0})).find("no tokens"), std::string::npos);
}

}  // namespace
}  // namespace aqua::llama_example
