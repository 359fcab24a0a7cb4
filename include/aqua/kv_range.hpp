// SPDX-License-Identifier: Apache-2.0
// KvRange names a part of one sequence's KV: some layers, some tokens, some heads, of all planes.
// It is counted where it is used: for a Layout and a list of blocks, layers and heads are the
// layout's, and the tokens lie in the blocks in the order of the list. A step of an engine adds one
// token: {.tokens = {length - 1, 1}}.
#pragma once

#include <compare>
#include <cstdint>

namespace aqua {

inline constexpr std::uint32_t kToTheEnd = UINT32_MAX;

struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t count = kToTheEnd;
  friend auto operator<=>(const IndexRange&, const IndexRange&) = default;
};

// By default, all of it.
struct KvRange {
  IndexRange layers{};
  IndexRange tokens{};
  IndexRange heads{};
  friend auto operator<=>(const KvRange&, const KvRange&) = default;
};

}  // namespace aqua
