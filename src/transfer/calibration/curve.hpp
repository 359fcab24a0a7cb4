// SPDX-License-Identifier: Apache-2.0
// Curve: the time that one way over one link takes, as a function of all bytes and of the
// size of the pieces that they fall into; from measured points.
//
// Points of one piece size are a row. The model behind the interpolation is
//   seconds = fixed + bytes * (per_piece / piece_bytes + per_byte),
// so a row is interpolated linearly in the bytes, and rows linearly in 1 / piece_bytes. Where
// the link keeps to the model four points tell all; where it does not (a driver that changes
// its mind at 28 KiB) more rows do, and the rest of the curve is not bent by them.
//
// Outside of the points: rows go on with their last slope, never steeper than their mean; for
// pieces smaller or larger than all rows the model is fitted to the two nearest rows.
//
// Never decreases with the bytes at one piece size. At one number of bytes it does not
// decrease with the number of pieces wherever the points do not.
//
// Threads: immutable.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/result.hpp"
#include "layout/pieces.hpp"

namespace aqua::transfer {

using layout::Pieces;

struct CurvePoint {
  std::uint64_t piece_bytes = 0;
  std::uint64_t bytes = 0;  // of all pieces; at least one of them
  std::uint64_t nanoseconds = 0;
  friend auto operator<=>(const CurvePoint&, const CurvePoint&) = default;
};

class Curve {
 public:
  static constexpr std::size_t kMaxPoints = 512;
  static constexpr std::uint64_t kMaxValue = std::uint64_t{1} << 50;  // of any field

  Curve() = default;  // no points: nothing known
  // Points in any order. invalid_argument when a field is zero or above kMaxValue, bytes are
  // fewer than a piece, two points are of the same place, or there are too many.
  [[nodiscard]] static Result<Curve> make(std::vector<CurvePoint> points);

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::span<const CurvePoint> points() const noexcept { return points_; }  // sorted
  // 0 when there is nothing to move or nothing is known.
  [[nodiscard]] double seconds(const Pieces& pieces) const noexcept;
  [[nodiscard]] double seconds(double bytes, double piece_bytes) const noexcept;

 private:
  struct Row {
    double piece_bytes = 0;
    std::vector<double> bytes;
    std::vector<double> seconds;
    [[nodiscard]] double at(double bytes_wanted) const noexcept;
  };
  // The share of the time that `row` takes beyond its fixed part which is a cost of each piece, by
  // the model and a neighbouring row.
  [[nodiscard]] static double piece_share(const Row& row, const Row& neighbour) noexcept;

  std::vector<CurvePoint> points_;
  std::vector<Row> rows_;
  double first_share_ = 0;  // piece_share() of the first row and of the last
  double last_share_ = 0;
};

}  // namespace aqua::transfer
