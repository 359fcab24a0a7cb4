// SPDX-License-Identifier: Apache-2.0
// SizeClasses: the two-level index of TLSF. It maps a size to a free list and finds, with two
// bit scans, the first list that is not empty and whose every block is large enough.
//
// Sizes are in granules (the allocator's alignment). Below 32 granules each size has its list;
// above, each power of two is cut into 32.
//
// Threads: none of its own. Owns: the heads of the lists; links live in the caller's headers.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace aqua::lending {

class SizeClasses {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr unsigned kCutBits = 5;
  static constexpr unsigned kCuts = 1U << kCutBits;

  struct Class {
    unsigned first = 0;
    unsigned second = 0;
  };

  SizeClasses() {
    for (auto& row : heads_) row.fill(kNone);
  }

  // The list that a free block of `granules` belongs to.
  [[nodiscard]] static constexpr Class of(std::size_t granules) noexcept {
    if (granules < kCuts) return {0, static_cast<unsigned>(granules)};
    const unsigned log2 = static_cast<unsigned>(std::bit_width(granules)) - 1;
    return {log2 - kCutBits + 1, static_cast<unsigned>(granules >> (log2 - kCutBits)) - kCuts};
  }

  // A block from the smallest non-empty list all of whose blocks hold `granules`; or kNone.
  [[nodiscard]] std::uint32_t find(std::size_t granules) const noexcept {
    if (granules >= kCuts) {  // up to the next list's lower bound
      const unsigned log2 = static_cast<unsigned>(std::bit_width(granules)) - 1;
      granules += (std::size_t{1} << (log2 - kCutBits)) - 1;
    }
    Class c = of(granules);
    if (c.first >= kRows) return kNone;
    std::uint32_t row = cuts_[c.first] & (~std::uint32_t{0} << c.second);
    if (row == 0) {
      const std::uint64_t above =
          c.first + 1 < 64 ? rows_ & (~std::uint64_t{0} << (c.first + 1)) : 0;
      if (above == 0) return kNone;
      c.first = static_cast<unsigned>(std::countr_zero(above));
      row = cuts_[c.first];
    }
    return heads_[c.first][static_cast<unsigned>(std::countr_zero(row))];
  }

  // The newest block of the largest non-empty list; or kNone.
  [[nodiscard]] std::uint32_t largest() const noexcept {
    if (rows_ == 0) return kNone;
    const unsigned first = 63U - static_cast<unsigned>(std::countl_zero(rows_));
    return heads_[first][31U - static_cast<unsigned>(std::countl_zero(cuts_[first]))];
  }

  [[nodiscard]] std::uint32_t head(Class c) const noexcept { return heads_[c.first][c.second]; }

  void set_head(Class c, std::uint32_t node) noexcept {
    assert(c.first < kRows);
    heads_[c.first][c.second] = node;
    if (node != kNone) {
      cuts_[c.first] |= std::uint32_t{1} << c.second;
      rows_ |= std::uint64_t{1} << c.first;
    } else {
      cuts_[c.first] &= ~(std::uint32_t{1} << c.second);
      if (cuts_[c.first] == 0) rows_ &= ~(std::uint64_t{1} << c.first);
    }
  }

 private:
  // Enough for every size of 64 bits in granules of 512 bytes (2^55 of them).
  static constexpr unsigned kRows = 64 - 9 - kCutBits + 1;

  std::uint64_t rows_ = 0;                   // bit: some list of this row is not empty
  std::array<std::uint32_t, kRows> cuts_{};  // bit: this list is not empty
  std::array<std::array<std::uint32_t, kCuts>, kRows> heads_;
};

}  // namespace aqua::lending
