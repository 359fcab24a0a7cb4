// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "transfer/calibration/probe.hpp"

namespace aqua::transfer {
namespace {

using Clock = Probe::Clock;

// A row whose measurement is this close to what was expected is no news.
constexpr double kSurprise = 0.02;
// Rows are not added closer than this: noise would be taken for detail.
constexpr double kClosest = 1.15;
constexpr std::size_t kEnough = Curve::kMaxPoints - 32;

// One way over one link in one direction.
class Search {
 public:
  Search(Probe& probe, const LinkMemory& far, Direction direction, Way way,
         const CalibrationOptions& options, Clock::time_point deadline)
      : probe_(probe),
        far_(far),
        direction_(direction),
        way_(way),
        options_(options),
        deadline_(deadline) {}

  [[nodiscard]] Result<Curve> run() {
    for (std::size_t piece = options_.smallest_piece;; piece *= 16) {
      // However late it is: without these rows there is no curve.
      const std::size_t capped = std::min(piece, options_.largest_piece);
      AQUA_TRY(measure_row(capped, true));
      if (!rows_.contains(capped)) return Curve{};  // it goes another way: nothing is known of it
      if (capped == options_.largest_piece) break;
    }
    for (std::size_t left = 0; points_.size() < kEnough && next_gap(left) && !late();) {
      AQUA_TRY(split(left));
    }
    return Curve::make(std::move(points_));
  }

 private:
  [[nodiscard]] bool late() const { return Clock::now() > deadline_; }

  // From one piece to all of the link's memory. A row whose transfers take long is cut short:
  // the curve goes on as it ends. One that is still short when the time is up is dropped, as
  // caches serve small transfers and the curve would go on like that. It ends before the first
  // transfer that went another way.
  [[nodiscard]] Result<void> measure_row(std::size_t piece, bool must_be) {
    constexpr std::uint64_t kLong = 4'000'000;  // ns
    std::vector<CurvePoint> row;
    for (std::size_t bytes = piece;; bytes = std::min(bytes * 4, far_.bytes)) {
      if (late() && !must_be) return {};
      AQUA_ASSIGN(const auto point, probe_.measure(far_, direction_, way_, piece, bytes));
      if (!point) break;
      if (row.empty() || point->bytes > row.back().bytes) row.push_back(*point);
      if (bytes == far_.bytes || (point->nanoseconds > kLong && row.size() > 1)) break;
    }
    if (row.empty()) return {};
    points_.insert(points_.end(), row.begin(), row.end());
    rows_.emplace(piece, 1.0);
    return {};
  }

  // The gap between rows that promises the most news.
  [[nodiscard]] bool next_gap(std::size_t& left) const {
    double most = kSurprise;
    bool found = false;
    for (auto row = rows_.begin(); row != rows_.end(); ++row) {
      const auto next = std::next(row);
      if (next == rows_.end()) break;
      const double ratio = static_cast<double>(next->first) / static_cast<double>(row->first);
      if (ratio < kClosest * kClosest || row->second <= most) continue;
      most = row->second;
      left = row->first;
      found = true;
    }
    return found;
  }

  [[nodiscard]] Result<void> split(std::size_t left) {
    const std::size_t right = std::next(rows_.find(left))->first;
    const double middle = std::sqrt(static_cast<double>(left) * static_cast<double>(right));
    const auto piece = static_cast<std::size_t>(middle) / 16 * 16;
    AQUA_ASSIGN(const Curve before, Curve::make(points_));
    const std::size_t old = points_.size();
    AQUA_TRY(measure_row(piece, false));
    if (points_.size() == old) {  // the time is up, or it went another way
      rows_[left] = 0;
      return {};
    }
    double surprise = 0;
    for (std::size_t i = old; i < points_.size(); ++i) {
      const CurvePoint& p = points_[i];
      const double expected =
          before.seconds(static_cast<double>(p.bytes), static_cast<double>(p.piece_bytes));
      const double seen = static_cast<double>(p.nanoseconds) * 1e-9;
      surprise = std::max(surprise, std::abs(std::log(seen / expected)));
    }
    rows_[left] = rows_[piece] = surprise;
    return {};
  }

  Probe& probe_;
  const LinkMemory& far_;
  const Direction direction_;
  const Way way_;
  const CalibrationOptions& options_;
  const Clock::time_point deadline_;
  std::vector<CurvePoint> points_;
  std::map<std::size_t, double> rows_;  // piece size -> surprise of the gap above it
};

Result<void> check(std::span<const LinkMemory> links, const CalibrationOptions& options) {
  for (const LinkMemory& far : links) {
    if (far.base == nullptr || far.bytes < options.largest_piece) {
      return Error{Code::invalid_argument,
                   concat("calibrate: the ", to_string(far.link), " link has ", far.bytes,
                          " bytes, pieces up to ", options.largest_piece)};
    }
  }
  return {};
}

}  // namespace

Result<CurveSet> calibrate(device::Device& device, std::span<const LinkMemory> links,
                           const CalibrationOptions& options) {
  AQUA_TRY(check(links, options));
  std::size_t most = 0;
  for (const LinkMemory& far : links) most = std::max(most, far.bytes);
  CurveSet set;
  if (links.empty()) return set;
  AQUA_ASSIGN(const auto probe, Probe::create(device, most, options));
  for (const LinkMemory& far : links) {
    const auto offered = std::ranges::count_if(kWays, [&](Way w) { return probe->offers(w); });
    auto left = static_cast<long>(kDirections.size()) * offered;
    const Clock::time_point end = Clock::now() + options.per_link;
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        // What earlier searches did not need is shared among the later ones.
        if (!probe->offers(way)) continue;
        const Clock::time_point now = Clock::now();
        const auto share = (end - now) / left--;
        Search search(*probe, far, direction, way, options, now + share);
        AQUA_ASSIGN(set.at(far.link, direction, way), search.run());
      }
    }
    set.set_measured(far.link);
  }
  return set;
}

}  // namespace aqua::transfer
