// SPDX-License-Identifier: Apache-2.0
// Pieces: how many contiguous runs a transfer falls into, and of which sizes. Sizes between
// two powers of two count as one class with their mean, so that a block list that is partly
// contiguous is not mistaken for one of middling blocks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace aqua::layout {

class Pieces {
 public:
  struct SizeClass {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };

  constexpr Pieces() noexcept = default;
  constexpr Pieces(std::size_t count, std::size_t piece_bytes) noexcept { add(count, piece_bytes); }
  // Pieces of no bytes are none.
  constexpr void add(std::size_t count, std::size_t piece_bytes) noexcept {
    if (count == 0 || piece_bytes == 0) return;
    SizeClass& c = classes_[static_cast<std::size_t>(std::bit_width(piece_bytes)) - 1];
    c.count += count;
    c.bytes += count * piece_bytes;
    count_ += count;
    bytes_ += count * piece_bytes;
  }

  // As many of each size, times `factor`.
  [[nodiscard]] constexpr Pieces times(std::size_t factor) const noexcept {
    Pieces product = *this;
    for (SizeClass& c : product.classes_) c = {c.count * factor, c.bytes * factor};
    product.count_ *= factor;
    product.bytes_ *= factor;
    return product;
  }

  [[nodiscard]] constexpr std::size_t count() const noexcept { return count_; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] constexpr const auto& classes() const noexcept { return classes_; }

 private:
  std::array<SizeClass, std::numeric_limits<std::size_t>::digits> classes_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace aqua::layout
