// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/link_fit.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/input/csv_table.hpp"

namespace aqua::sim {
namespace {

constexpr double kMs = 1e-3;

// Minimises sum((latency + x * slope - t)^2 / t^2): a 2 x 2 system.
Result<LinkFit> solve(const std::vector<MeasuredTransfer>& points) {
  double w = 0, wx = 0, wxx = 0, wt = 0, wxt = 0;
  for (const auto& [x, t] : points) {
    const double weight = 1 / (t * t);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wt += weight * t;
    wxt += weight * x * t;
  }
  const double determinant = w * wxx - wx * wx;
  const double slope = (w * wxt - wx * wt) / determinant;
  const double latency = (wt - slope * wx) / w;
  if (!(slope > 0) || !std::isfinite(latency)) {
    return Error{Code::failed_precondition, "link fit: larger transfers do not take longer"};
  }
  return LinkFit{
      .latency_s = std::max(0.0, latency), .bytes_per_second = 1 / slope, .fitted = points.size()};
}

}  // namespace

Result<std::vector<MeasuredTransfer>> read_send_recv(std::string_view text,
                                                     unsigned devices_per_node) {
  AQUA_ASSIGN(CsvTable table, CsvTable::open("send_recv", text));
  AQUA_ASSIGN(const std::size_t time, table.column("time_stats.send_recv.median"));
  AQUA_ASSIGN(const std::size_t size, table.column("size"));
  AQUA_ASSIGN(const std::size_t devices, table.column("devices_per_node"));
  std::vector<MeasuredTransfer> transfers;
  for (;;) {
    AQUA_ASSIGN(const bool more, table.next());
    if (!more) return transfers;
    AQUA_ASSIGN(const double per_node, table.number(devices));
    AQUA_ASSIGN(const double bytes, table.number(size));
    AQUA_ASSIGN(const double ms, table.number(time));
    if (per_node == devices_per_node && ms > 0) transfers.push_back({bytes, ms * kMs});
  }
}

Result<LinkFit> fit_link(std::vector<MeasuredTransfer> transfers) {
  if (transfers.size() < 4) {
    return Error{Code::failed_precondition,
                 concat("link fit: ", transfers.size(), " transfers, need at least 4")};
  }
  std::sort(transfers.begin(), transfers.end(),
            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  std::vector<MeasuredTransfer> fitted, held_out;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    (i % 2 == 0 ? fitted : held_out).push_back(transfers[i]);
  }
  AQUA_ASSIGN(LinkFit fit, solve(fitted));
  std::vector<double> errors;
  for (const auto& [bytes, seconds] : held_out) {
    errors.push_back(std::abs(fit.seconds(bytes) / seconds - 1));
    fit.mean_error += errors.back();
  }
  std::sort(errors.begin(), errors.end());
  fit.checked = errors.size();
  fit.mean_error /= static_cast<double>(errors.size());
  fit.p90_error = errors[errors.size() * 9 / 10];
  return fit;
}

}  // namespace aqua::sim
