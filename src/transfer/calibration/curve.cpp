// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/curve.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::transfer {
namespace {

Error bad(const CurvePoint& p, const char* what) {
  return Error{Code::invalid_argument, concat("curve: point ", p.piece_bytes, " ", p.bytes, " ",
                                              p.nanoseconds, ": ", what)};
}

}  // namespace

Result<Curve> Curve::make(std::vector<CurvePoint> points) {
  if (points.size() > kMaxPoints) {
    return Error{Code::invalid_argument,
                 concat("curve: ", points.size(), " points, more than ", kMaxPoints)};
  }
  std::ranges::sort(points);
  Curve curve;
  const CurvePoint* last = nullptr;
  for (const CurvePoint& p : points) {
    if (p.piece_bytes == 0 || p.nanoseconds == 0) return bad(p, "zero");
    if (p.bytes > kMaxValue || p.nanoseconds > kMaxValue) return bad(p, "too large");
    if (p.bytes < p.piece_bytes) return bad(p, "less than a piece");
    const bool same_row = last != nullptr && last->piece_bytes == p.piece_bytes;
    if (same_row && last->bytes == p.bytes) return bad(p, "measured twice");
    if (!same_row) curve.rows_.push_back({static_cast<double>(p.piece_bytes), {}, {}});
    Row& row = curve.rows_.back();
    const double seconds = static_cast<double>(p.nanoseconds) * 1e-9;
    row.bytes.push_back(static_cast<double>(p.bytes));
    row.seconds.push_back(row.seconds.empty() ? seconds : std::max(seconds, row.seconds.back()));
    last = &p;
  }
  if (const auto& rows = curve.rows_; rows.size() > 1) {
    curve.first_share_ = piece_share(rows[0], rows[1]);
    curve.last_share_ = piece_share(rows[rows.size() - 1], rows[rows.size() - 2]);
  }
  curve.points_ = std::move(points);
  return curve;
}

double Curve::Row::at(double wanted) const noexcept {
  const std::size_t n = bytes.size();
  if (n == 1) return seconds[0] * std::max(1.0, wanted / bytes[0]);
  const auto above = std::ranges::upper_bound(bytes, wanted);
  const auto right = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(above - bytes.begin(), 1, static_cast<std::ptrdiff_t>(n) - 1));
  const double x0 = bytes[right - 1];
  const double y0 = seconds[right - 1];
  double slope = (seconds[right] - y0) / (bytes[right] - x0);
  if (wanted > bytes[n - 1]) {
    slope = std::min(slope, seconds[n - 1] / bytes[n - 1]);
    return seconds[n - 1] + slope * (wanted - bytes[n - 1]);
  }
  const double y = y0 + slope * (wanted - x0);
  return wanted < x0 ? std::max(y, y0 * wanted / x0) : y;
}

double Curve::piece_share(const Row& row, const Row& neighbour) noexcept {
  const double bytes = std::min(row.bytes.back(), neighbour.bytes.back());
  const double per_piece = (row.at(bytes) - neighbour.at(bytes)) /
                           (bytes * (1 / row.piece_bytes - 1 / neighbour.piece_bytes));
  const double fixed = std::max(0.0, row.at(0));
  const double moving = (row.at(bytes) - fixed) / bytes * row.piece_bytes;  // of one piece
  return moving <= 0 ? 0 : std::clamp(per_piece / moving, 0.0, 1.0);
}

double Curve::seconds(double bytes, double piece_bytes) const noexcept {
  if (rows_.empty() || bytes <= 0 || piece_bytes <= 0) return 0;
  const auto above = std::ranges::upper_bound(rows_, piece_bytes, {}, &Row::piece_bytes);
  // Outside: the bytes of the row's own pieces that take as long.
  const auto like = [&](const Row& row, double share) {
    return row.at(bytes * (1 - share + share * row.piece_bytes / piece_bytes));
  };
  if (above == rows_.begin()) return like(*above, first_share_);
  const Row& left = above[-1];
  if (above == rows_.end()) return like(left, last_share_);
  const double weight =
      (1 / piece_bytes - 1 / above->piece_bytes) / (1 / left.piece_bytes - 1 / above->piece_bytes);
  return weight * left.at(bytes) + (1 - weight) * above->at(bytes);
}

// What the model gives for a mixture: each class's cost for its share of the bytes, and the
// fixed cost once.
double Curve::seconds(const Pieces& pieces) const noexcept {
  const auto bytes = static_cast<double>(pieces.bytes());
  double sum = 0;
  for (const Pieces::SizeClass& c : pieces.classes()) {
    if (c.count == 0) continue;
    const double mean = static_cast<double>(c.bytes) / static_cast<double>(c.count);
    sum += static_cast<double>(c.bytes) / bytes * seconds(bytes, mean);
  }
  return sum;
}

}  // namespace aqua::transfer
