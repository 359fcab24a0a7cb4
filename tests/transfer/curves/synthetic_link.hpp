// SPDX-License-Identifier: Apache-2.0
// Links made of arithmetic: the time of every transfer over them is known.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "transfer/calibration/curve_set.hpp"

namespace aqua::test {

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

struct SyntheticWay {
  double fixed = 0;      // seconds
  double per_piece = 0;  // seconds
  double bandwidth = 1;  // bytes a second
  double small_below = 0;
  double small_bandwidth = 1;

  [[nodiscard]] double seconds(double bytes, double piece) const {
    return fixed + bytes / piece * per_piece +
           bytes / (piece < small_below ? small_bandwidth : bandwidth);
  }
};

// What a calibration would have seen: pieces and bytes four times as large each time, and
// nothing that takes above 20 ms. `noise` disturbs each point by up to that share.
template <typename Random>
std::vector<transfer::CurvePoint> measure(const SyntheticWay& way, double noise, Random& random) {
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<transfer::CurvePoint> points;
  std::vector<double> pieces;
  for (double piece = 4 * kKiB; piece <= 4 * kMiB; piece *= 4) pieces.push_back(piece);
  if (way.small_below > 0) {  // the refinement of calibrate.hpp would close in on it
    pieces.push_back(way.small_below * 0.98);
    pieces.push_back(way.small_below);
  }
  for (const double piece : pieces) {
    for (double bytes = piece; bytes <= 64 * kMiB; bytes *= 4) {
      const double seconds = way.seconds(bytes, piece) * factor(random);
      if (seconds > 0.02) break;
      points.push_back({static_cast<std::uint64_t>(piece), static_cast<std::uint64_t>(bytes),
                        static_cast<std::uint64_t>(seconds * 1e9)});
    }
  }
  return points;
}

}  // namespace aqua::test
