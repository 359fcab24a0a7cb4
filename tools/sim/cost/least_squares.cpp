// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace aqua::sim {

void LeastSquares::add(const std::vector<double>& row, double value, double weight) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    for (std::size_t k = 0; k < row.size(); ++k) matrix_[i][k] += weight * row[i] * row[k];
    right_[i] += weight * row[i] * value;
  }
}

// Coordinate descent on scaled unknowns: each is set to its best, or 0, given the others, until
// none moves. The problem is convex, so that is the minimum.
std::vector<double> LeastSquares::solve() const {
  constexpr int most_rounds = 200'000;
  constexpr double settled = 1e-11;
  const std::size_t count = right_.size();
  std::vector<double> scale(count), x(count);
  for (std::size_t i = 0; i < count; ++i) {
    scale[i] = matrix_[i][i] > 0 ? 1 / std::sqrt(matrix_[i][i]) : 0;
  }
  std::vector<double> scaled(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      if (k != i) scaled[i * count + k] = matrix_[i][k] * scale[i] * scale[k];
    }
  }
  for (int round = 0; round < most_rounds; ++round) {
    double moved = 0, largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double rest = right_[i] * scale[i];
      for (std::size_t k = 0; k < count; ++k) rest -= scaled[i * count + k] * x[k];
      const double best = scale[i] > 0 ? std::max(0.0, rest) : 0;
      moved = std::max(moved, std::abs(best - x[i]));
      largest = std::max(largest, best);
      x[i] = best;
    }
    if (moved <= settled * largest) break;
  }
  for (std::size_t i = 0; i < count; ++i) x[i] *= scale[i];
  return x;
}

}  // namespace aqua::sim
