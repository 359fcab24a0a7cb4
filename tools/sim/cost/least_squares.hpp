// SPDX-License-Identifier: Apache-2.0
// Least squares with coefficients that are not negative, for a dozen unknowns.
#pragma once

#include <vector>

namespace aqua::sim {

// Adds up equations  sum_i row[i] * x[i] = value.
class LeastSquares {
 public:
  explicit LeastSquares(std::size_t unknowns)
      : matrix_(unknowns, std::vector<double>(unknowns)), right_(unknowns) {}
  void add(const std::vector<double>& row, double value, double weight = 1);
  // Minimises the sum of weight * error^2 over x >= 0. Unknowns that nothing says anything of are
  // 0.
  [[nodiscard]] std::vector<double> solve() const;

 private:
  std::vector<std::vector<double>> matrix_;
  std::vector<double> right_;
};

}  // namespace aqua::sim
