// SPDX-License-Identifier: Apache-2.0
// Curves keep their promises on links whose times are known by arithmetic.
#include "transfer/calibration/curve.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/transfer/curves/synthetic_link.hpp"

namespace aqua::transfer {
namespace {

using test::kKiB;
using test::kMiB;
using test::SyntheticWay;

Code code_of(std::vector<CurvePoint> points) {
  return Curve::make(std::move(points)).error().code;
}

TEST(Curve, RefusesPointsThatCannotBe) {
  EXPECT_EQ(code_of({{0, 1, 1}}), Code::invalid_argument);
  EXPECT_EQ(code_of({{1, 1, 0}}), Code::invalid_argument);
  EXPECT_EQ(code_of({{8, 7, 1}}), Code::invalid_argument) << "less than one piece";
  EXPECT_EQ(code_of({{8, 8, 1}, {8, 8, 2}}), Code::invalid_argument) << "twice";
  EXPECT_EQ(code_of({{8, Curve::kMaxValue + 1, 1}}), Code::invalid_argument);
  std::vector<CurvePoint> many;
  for (std::uint64_t i = 1; i <= Curve::kMaxPoints + 1; ++i) many.push_back({1, i, i});
  EXPECT_EQ(code_of(many), Code::invalid_argument);
}

TEST(Curve, WithoutPointsKnowsNothing) {
  const Curve none = Curve::make({}).value();
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.seconds(Pieces(10, 4096)), 0);
}

TEST(Curve, OnePointScales) {
  const Curve curve = Curve::make({{4096, 40'960, 1000}}).value();
  EXPECT_DOUBLE_EQ(curve.seconds(40'960, 4096), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(81'920, 4096), 2e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(4096, 4096), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(40'960, 65'536), 1e-6);
}

TEST(Curve, MeetsItsPoints) {
  const std::vector<CurvePoint> points{
      {100, 100, 50}, {100, 1000, 90}, {300, 300, 40}, {300, 3000, 70}};
  const Curve curve = Curve::make(points).value();
  for (const CurvePoint& p : points) {
    const double seconds =
        curve.seconds(static_cast<double>(p.bytes), static_cast<double>(p.piece_bytes));
    EXPECT_NEAR(seconds, static_cast<double>(p.nanoseconds) * 1e-9, 1e-15);
  }
}

TEST(Curve, AMixtureCostsWhatItsPartsCostAndTheFixedPartOnce) {
  std::minstd_rand random(1);
  const SyntheticWay way{8e-6, 0.5e-6, 55e9};
  const Curve curve = Curve::make(test::measure(way, 0, random)).value();
  Pieces mixed(1000, 16 << 10);
  mixed.add(4, 8 << 20);
  const double expected =
      way.fixed + 1004 * way.per_piece + static_cast<double>(mixed.bytes()) / way.bandwidth;
  EXPECT_NEAR(curve.seconds(mixed) / expected, 1, 0.01);
}

// A link like those that exist: microseconds to start, up to two a piece, 5 GB/s to 1 TB/s.
SyntheticWay any_way(std::minstd_rand& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  SyntheticWay way{between(2e-6, 40e-6), between(1e-9, 2e-6), between(5e9, 1e12)};
  if (random() % 3 == 0) {
    way.small_below = between(8 * kKiB, 200 * kKiB);
    way.small_bandwidth = way.bandwidth / between(2, 8);
  }
  return way;
}

// Errors of transfers of up to 1 GiB, by curves that were measured up to 64 MiB, sorted.
std::vector<double> errors_of_unseen(double smallest_piece, double largest_piece) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<double> log_piece(std::log(smallest_piece),
                                                   std::log(largest_piece));
  std::vector<double> errors;
  for (int link = 0; link < 60; ++link) {
    const SyntheticWay way = any_way(random);
    const Curve curve = Curve::make(test::measure(way, 0.02, random)).value();
    for (int i = 0; i < 50; ++i) {
      const double piece = std::exp(log_piece(random));
      if (piece > way.small_below * 0.98 && piece < way.small_below) continue;  // on the step
      std::uniform_real_distribution<double> log_count(0, std::log(1024 * kMiB / piece));
      const double bytes = piece * std::max(1.0, std::floor(std::exp(log_count(random))));
      errors.push_back(std::abs(curve.seconds(bytes, piece) / way.seconds(bytes, piece) - 1));
    }
  }
  std::ranges::sort(errors);
  return errors;
}

TEST(CurveProperty, UnseenSizesAreWithin3PercentAtTheMedianAnd10AtWorst) {
  const auto errors = errors_of_unseen(4 * kKiB, 16 * kMiB);
  EXPECT_LT(errors[errors.size() / 2], 0.03);
  EXPECT_LT(errors.back(), 0.10);
}

TEST(CurveProperty, PiecesSmallerThanAnyMeasuredAreWithin3PercentAtTheMedianAnd20AtWorst) {
  const auto errors = errors_of_unseen(kKiB, 4 * kKiB);
  EXPECT_LT(errors[errors.size() / 2], 0.03);
  EXPECT_LT(errors.back(), 0.20);
}

TEST(CurveProperty, NeverDecreasesWithTheBytes) {
  std::minstd_rand random(11);
  for (int link = 0; link < 60; ++link) {
    const Curve curve = Curve::make(test::measure(any_way(random), 0.3, random)).value();
    for (double piece = 100; piece < 64 * kMiB; piece *= 1.9) {
      double last = 0;
      for (double bytes = piece; bytes < 4096 * kMiB; bytes *= 1.7) {
        const double now = curve.seconds(bytes, piece);
        EXPECT_GE(now, last) << bytes << " bytes in pieces of " << piece;
        EXPECT_GT(now, 0);
        last = now;
      }
    }
  }
}

TEST(CurveProperty, MorePiecesForAsManyBytesNeverTakeLess) {
  std::minstd_rand random(13);
  for (int link = 0; link < 60; ++link) {
    const Curve curve = Curve::make(test::measure(any_way(random), 0, random)).value();
    for (double bytes = kKiB; bytes < 4096 * kMiB; bytes *= 2.3) {
      double last = 0;
      for (double pieces = 1; pieces < 1e5 && bytes / pieces >= 64; pieces *= 1.3) {
        const double now = curve.seconds(bytes, bytes / pieces);
        EXPECT_GE(now, last * (1 - 1e-3)) << bytes << " bytes in " << pieces;  // rounded to 1 ns
        last = now;
      }
    }
  }
}

}  // namespace
}  // namespace aqua::transfer
