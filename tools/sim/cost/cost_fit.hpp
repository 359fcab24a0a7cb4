// SPDX-License-Identifier: Apache-2.0
// Costs of an engine's iterations and copies, fitted to a recording of it by least squares: of
// iterations the relative error, of copies the absolute one, so that large copies, whose time
// counts, decide.
//
//   seconds = linear(tokens) + rows * per_row + KV tokens * per_kv_token + pairs * per_pair
//             + tokens * KV of the batch, in whole steps * per_any_pair
//
// linear() goes through points at powers of two and is straight between them; what an engine does
// besides (its own host time) is in it.
//
// Threads: plain values and functions.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/engine/paging.hpp"
#include "tools/sim/input/recording.hpp"

namespace aqua::sim {

struct CostFit {
  std::vector<std::uint32_t> points;  // tokens: 1, 2, 4 … …, and the budget
  std::vector<double> seconds{};      // at each
  double per_row_s = 0;
  double per_kv_token_s = 0;
  double per_pair_s = 0;
  double per_any_pair_s = 0;
  std::uint32_t kv_step_tokens = 1;
  CopyCost out{}, in{};

  // The fit of an engine that takes `times` as long for everything.
  [[nodiscard]] CostFit slower(double times) const;
  [[nodiscard]] double linear(double tokens) const;
  // Pairs of any two, in whole steps of KV tokens.
  [[nodiscard]] double any_pairs(double tokens, double batch_kv) const;
  [[nodiscard]] double iteration(const RecordedIteration& what) const;
};

struct CostFitReport {
  CostFit fit;  // to all iterations
  // A fit to every second iteration alone, held against the others.
  std::size_t fitted = 0, checked = 0;
  double mean_error = 0, p90_error = 0;  // relative, of single iterations
  double sum_error = 0;                  // of the sum of their times, with its sign
  // Copies fitted to. Of a direction without any the cost is 0.
  std::size_t copies_out = 0, copies_in = 0;
};

// failed_precondition with fewer iterations than there is to fit.
[[nodiscard]] Result<CostFitReport> fit_costs(const Recording& recording);

}  // namespace aqua::sim
