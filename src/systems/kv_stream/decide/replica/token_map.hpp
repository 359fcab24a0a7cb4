// SPDX-License-Identifier: Apache-2.0
// TokenMap says which pack has which tokens of one sequence.
//
// Threads: none of its own; a value.
#pragma once

#include <cstdint>
#include <vector>

namespace aqua::kv_stream {

// Positions [first, end).
struct TokenSpan {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  [[nodiscard]] std::uint32_t count() const noexcept { return end > first ? end - first : 0; }
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

class TokenMap {
 public:
  struct Piece {
    TokenSpan span{};
    std::uint64_t pack = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  // The tokens are in this pack now, and in no other one.
  void assign(TokenSpan span, std::uint64_t pack);
  void erase(TokenSpan span);
  // In order, without overlap; neighbours are of different packs, or do not touch.
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::vector<TokenSpan> of(std::uint64_t pack) const;
  [[nodiscard]] bool has(std::uint64_t pack) const;
  // The piece that has this position. nullptr: none has.
  [[nodiscard]] const Piece* at(std::uint32_t position) const;
  // Where the first piece behind this position begins; UINT32_MAX: there is none.
  [[nodiscard]] std::uint32_t next_begin(std::uint32_t position) const;

 private:
  std::vector<Piece> pieces_{};
};

}  // namespace aqua::kv_stream
