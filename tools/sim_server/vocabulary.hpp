// SPDX-License-Identifier: Apache-2.0
// The language of simulated engines: an id is a byte of text, and which id comes next follows from
// the ids so far and a seed alone. So an answer that is continued elsewhere can be compared with
// one that stayed, id by id.
//
// Threads: plain data and functions. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aqua::tool {

using TokenId = std::uint32_t;

inline constexpr TokenId kBegin = 1;  // of every text's ids
inline constexpr TokenId kEnd = 2;    // of an answer

// kBegin and an id for each byte.
[[nodiscard]] std::vector<TokenId> ids_of(std::string_view text);

// What comes after some ids. Letters and blanks mostly; now and then a character of two bytes, and
// so of two ids.
class Continuation {
 public:
  Continuation(std::span<const TokenId> prompt, std::uint64_t seed);

  // The next id, which belongs to the ids so far from now on. `may_end`: it may be kEnd.
  [[nodiscard]] TokenId next(bool may_end);

 private:
  void add(TokenId id);

  const std::uint64_t seed_;
  std::uint64_t hash_ = 0;  // of all ids so far
  TokenId last_ = 0;
};

// Text of ids as they come: whole characters only, as engines tell it.
class Detokenizer {
 public:
  // What can be said with this id: "" in the middle of a character. A character whose beginning
  // was not seen is U+FFFD.
  [[nodiscard]] std::string feed(TokenId id);

 private:
  std::string begun_;
};

}  // namespace aqua::tool
