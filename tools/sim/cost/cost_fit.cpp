// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/cost_fit.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/cost/least_squares.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {
namespace {

std::vector<std::uint32_t> points_up_to(std::uint32_t most) {
  std::vector<std::uint32_t> points;
  for (std::uint32_t n = 1; n < most; n *= 2) points.push_back(n);
  points.push_back(most);
  return points;
}

// What linear(tokens) is of the seconds at each point.
std::vector<double> shares(const std::vector<std::uint32_t>& points, double tokens) {
  std::vector<double> row(points.size());
  const auto above = std::lower_bound(points.begin(), points.end(), tokens);
  const auto i = static_cast<std::size_t>(above - points.begin());
  if (above == points.end()) {
    row.back() = tokens / points.back();
  } else if (i == 0) {
    row.front() = 1;
  } else {
    row[i] = (tokens - points[i - 1]) / (points[i] - points[i - 1]);
    row[i - 1] = 1 - row[i];
  }
  return row;
}

// Points that no iteration came near to lie on a line with their neighbours.
void straighten(LeastSquares& equations, const std::vector<std::uint32_t>& points,
                std::size_t unknowns, double weight) {
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    std::vector<double> row(unknowns);
    const double share =
        static_cast<double>(points[i] - points[i - 1]) / (points[i + 1] - points[i - 1]);
    row[i - 1] = 1 - share;
    row[i] = -1;
    row[i + 1] = share;
    equations.add(row, 0, weight);
  }
}

struct Taken {
  std::size_t first = 0, step = 1;
};

// What an error of `one` is relative to: what it took, or what a fit before this one says.
double scale_of(const RecordedIteration& one, const CostFit* before) {
  constexpr double shortest = 1e-6;  // that a clock tells
  constexpr double least_share = 0.1;
  if (before == nullptr) return std::max(one.seconds, shortest);
  return std::max({before->iteration(one), least_share * one.seconds, shortest});
}

CostFit fit_once(const Recording& recording, Taken taken, const CostFit* before) {
  constexpr double hardly = 1e-4;  // of the weight that an iteration has
  CostFit fit{.points = points_up_to(recording.scheduler.budget_tokens),
              .kv_step_tokens = recording.kv_step_tokens};
  const std::size_t points = fit.points.size(), unknowns = points + 4;
  LeastSquares equations(unknowns);
  double weights = 0;
  std::size_t count = 0;
  for (std::size_t i = taken.first; i < recording.iterations.size(); i += taken.step) {
    const RecordedIteration& one = recording.iterations[i];
    if (one.seconds <= 0) continue;
    const double scale = scale_of(one, before);
    std::vector<double> row = shares(fit.points, one.tokens);
    row.insert(row.end(),
               {one.rows, one.kv_tokens, one.pairs, fit.any_pairs(one.tokens, one.batch_kv)});
    const double weight = 1 / (scale * scale);
    equations.add(row, one.seconds, weight);
    weights += weight;
    count += 1;
  }
  if (count > 0) {
    straighten(equations, fit.points, unknowns, hardly * weights / static_cast<double>(count));
  }
  const std::vector<double> x = equations.solve();
  fit.seconds.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(points));
  fit.per_row_s = x[points];
  fit.per_kv_token_s = x[points + 1];
  fit.per_pair_s = x[points + 2];
  fit.per_any_pair_s = x[points + 3];
  return fit;
}

// Relative to what was measured, an iteration that was held up counts for less than one that was
// quick, and the fit is too low. So it is done again, relative to itself.
CostFit fit_iterations(const Recording& recording, Taken taken) {
  constexpr int again = 3;
  CostFit fit = fit_once(recording, taken, nullptr);
  for (int i = 0; i < again; ++i) fit = fit_once(recording, taken, &fit);
  return fit;
}

CopyCost fit_copies(const std::vector<RecordedCopy>& copies, bool out) {
  LeastSquares equations(2);
  for (const RecordedCopy& copy : copies) {
    if (copy.out == out) equations.add({1, copy.bytes}, copy.seconds);
  }
  const std::vector<double> x = equations.solve();
  return {.latency_s = x[0], .per_byte_s = x[1]};
}

}  // namespace

CostFit CostFit::slower(double times) const {
  CostFit all = *this;
  for (double& one : all.seconds) one *= times;
  for (double* one :
       {&all.per_row_s, &all.per_kv_token_s, &all.per_pair_s, &all.per_any_pair_s,
        &all.out.latency_s, &all.out.per_byte_s, &all.in.latency_s, &all.in.per_byte_s})
    *one *= times;
  return all;
}

double CostFit::linear(double tokens) const {
  const std::vector<double> row = shares(points, tokens);
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * seconds[i];
  return sum;
}

double CostFit::any_pairs(double tokens, double batch_kv) const {
  return tokens * std::ceil(batch_kv / kv_step_tokens) * kv_step_tokens;
}

double CostFit::iteration(const RecordedIteration& what) const {
  return linear(what.tokens) + what.rows * per_row_s + what.kv_tokens * per_kv_token_s +
         what.pairs * per_pair_s + any_pairs(what.tokens, what.batch_kv) * per_any_pair_s;
}

Result<CostFitReport> fit_costs(const Recording& recording) {
  constexpr std::size_t least = 100;
  const std::size_t count = recording.iterations.size();
  if (count < least) {
    return Error{Code::failed_precondition,
                 concat("calibration: ", count, " iterations; record at least ", least)};
  }
  CostFitReport report{.fit = fit_iterations(recording, {})};
  report.fit.out = fit_copies(recording.copies, true);
  report.fit.in = fit_copies(recording.copies, false);
  for (const RecordedCopy& copy : recording.copies)
    (copy.out ? report.copies_out : report.copies_in) += 1;
  const CostFit half = fit_iterations(recording, {.first = 0, .step = 2});
  report.fitted = (count + 1) / 2;
  std::vector<double> errors;
  double measured = 0, predicted = 0;
  for (std::size_t i = 1; i < count; i += 2) {
    const RecordedIteration& one = recording.iterations[i];
    if (one.seconds <= 0) continue;
    measured += one.seconds;
    predicted += half.iteration(one);
    errors.push_back(std::abs(half.iteration(one) / one.seconds - 1));
  }
  report.checked = errors.size();
  for (const double error : errors) report.mean_error += error / static_cast<double>(errors.size());
  report.p90_error = quantile(errors, 0.9);
  report.sum_error = measured > 0 ? predicted / measured - 1 : 0;
  return report;
}

}  // namespace aqua::sim
