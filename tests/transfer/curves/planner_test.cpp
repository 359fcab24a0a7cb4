// SPDX-License-Identifier: Apache-2.0
// Which way at which size, from curves that a formula gives.
#include "transfer/planner.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/transfer/curves/synthetic_link.hpp"

namespace aqua::transfer {
namespace {

using test::kKiB;
using test::SyntheticWay;

constexpr WaySet kAll{Way::each, Way::batched, Way::staged, Way::kernel};

// In the order of Way.
CurveSet by_formula(const std::array<SyntheticWay, 4>& ways) {
  std::minstd_rand random(1);
  CurveSet set;
  for (const Way way : kWays) {
    set.at(Link::host, Direction::offload, way) =
        Curve::make(test::measure(ways[static_cast<std::size_t>(way)], 0, random)).value();
  }
  set.set_measured(Link::host);
  return set;
}

// A PCIe link as published: batches collapse below 28 KiB, kernels do not saturate it.
const std::array<SyntheticWay, 4> kPcie{
    SyntheticWay{6e-6, 1.6e-6, 55e9}, SyntheticWay{8e-6, 0.5e-6, 55e9, 28 * kKiB, 7.7e9},
    SyntheticWay{16e-6, 2e-9, 48e9}, SyntheticWay{9e-6, 2e-9, 35e9}};

Job job(std::size_t count, std::size_t piece, WaySet possible = kAll) {
  return {Link::host, Direction::offload, Pieces(count, piece), possible};
}
Way way_of(const Job& j) {
  static const CurveSet curves = by_formula(kPcie);
  return choose(curves, j).way;
}

struct Row {
  std::size_t count;
  std::size_t piece_kib;
  Way way;
};

TEST(Planner, TakesTheFastestWayOnALinkLikePcie) {
  const Row table[] = {
      {1, 16, Way::each},         // one piece: nothing to merge
      {1, 65536, Way::each},      // likewise
      {2, 16, Way::each},         // two commands are less than a launch
      {16, 16, Way::kernel},      // small: the launch is cheaper than staging
      {4096, 16, Way::staged},    // large: the link is better used by bulk copies
      {4096, 4, Way::staged},     //
      {16, 128, Way::batched},    //
      {2, 32768, Way::each},      // both saturate; no batch needed
      {1024, 1024, Way::batched}  //
  };
  for (const Row& row : table) {
    EXPECT_EQ(to_string(way_of(job(row.count, row.piece_kib << 10))), to_string(row.way))
        << row.count << " pieces of " << row.piece_kib << " KiB";
  }
}

// By arithmetic: where the kernel's lower fixed cost is used up by its lower rate.
TEST(Planner, CrossesFromKernelToStagedWhereTheCurvesCross) {
  const double piece = 16 * kKiB;
  const double crossing = (16e-6 - 9e-6) / (piece / 35e9 - piece / 48e9);
  const auto below = static_cast<std::size_t>(crossing * 0.9);
  const auto above = static_cast<std::size_t>(crossing * 1.1);
  EXPECT_EQ(way_of(job(below, 16 << 10)), Way::kernel);
  EXPECT_EQ(way_of(job(above, 16 << 10)), Way::staged);
}

TEST(Planner, OnceLargerPiecesFavourBatchesTheyAlwaysDo) {
  bool batched = false;
  for (std::size_t piece = 4 << 10; piece <= 1 << 20; piece += 4 << 10) {
    const Way way = way_of(job(256, piece));
    if (batched) {
      EXPECT_EQ(way, Way::batched) << piece;
    }
    batched = way == Way::batched;
  }
  EXPECT_TRUE(batched);
}

TEST(Planner, TakesWhatIsPossible) {
  const Job small = job(4096, 16 << 10);
  Job j = small;
  j.possible = {Way::each, Way::batched, Way::kernel};
  EXPECT_EQ(way_of(j), Way::kernel);
  j.possible = {Way::each, Way::batched};
  EXPECT_EQ(way_of(j), Way::each) << "a batch of small pieces is worse than none";
  j.possible = {};
  const Choice choice = choose(by_formula(kPcie), j);
  EXPECT_EQ(choice.way, Way::each);
  EXPECT_EQ(choice.reason, Reason::only_one);
}

TEST(Planner, NeverStagesOnePiece) {
  CurveSet curves = by_formula({SyntheticWay{1e-3, 0, 1e9}, SyntheticWay{1e-3, 0, 1e9},
                                SyntheticWay{1e-6, 0, 1e12}, SyntheticWay{1e-3, 0, 1e9}});
  EXPECT_EQ(choose(curves, job(1, 1 << 20)).way, Way::each);
  EXPECT_EQ(choose(curves, job(2, 1 << 20)).way, Way::staged);
}

TEST(Planner, BreaksTiesInFavourOfTheEngine) {
  const SyntheticWay same{1e-5, 1e-7, 50e9};
  SyntheticWay slightly_faster = same;
  slightly_faster.bandwidth *= 1.005;
  const CurveSet curves = by_formula({same, same, same, slightly_faster});
  const WaySet unstaged{Way::each, Way::batched, Way::kernel};
  const Choice all = choose(curves, job(100, 64 << 10, unstaged));
  EXPECT_EQ(all.way, Way::each);
  EXPECT_EQ(all.reason, Reason::as_fast);
  slightly_faster.bandwidth *= 1.1;
  EXPECT_EQ(
      choose(by_formula({same, same, same, slightly_faster}), job(10'000, 64 << 10, unstaged)).way,
      Way::kernel);
}

// As on an H100 over PCIe, where staging makes 0.99 of a bulk copy.
TEST(Planner, StagesOverTheHostLinkUnlessCopiesOfPiecesAreClearlyFaster) {
  auto ways = kPcie;
  ways[static_cast<std::size_t>(Way::staged)].bandwidth = 54.5e9;
  ways[static_cast<std::size_t>(Way::batched)].per_piece = 1e-8;
  const CurveSet curves = by_formula(ways);
  const Choice large = choose(curves, job(1024, 256 << 10));
  EXPECT_GT(large.seconds(), large.estimates[static_cast<std::size_t>(Way::batched)].seconds);
  EXPECT_EQ(large.way, Way::staged);
  EXPECT_EQ(large.reason, Reason::steady);
  EXPECT_EQ(choose(curves, job(4, 64 << 10)).way, Way::batched) << "staging begins later";
  EXPECT_EQ(choose(curves, job(1024, 256 << 10, {Way::each, Way::batched})).way, Way::batched);
}

TEST(Planner, AWayWithoutACurveIsNotGuessedAt) {
  CurveSet curves = by_formula(kPcie);
  curves.at(Link::host, Direction::offload, Way::staged) = Curve();
  EXPECT_EQ(choose(curves, job(4096, 16 << 10)).way, Way::kernel);
  EXPECT_EQ(choose(CurveSet(), job(4096, 16 << 10)).way, Way::each);
}

TEST(Planner, NothingToMoveIsNoChoice) {
  const Choice choice = choose(by_formula(kPcie), job(0, 0));
  EXPECT_EQ(choice.way, Way::each);
  EXPECT_EQ(choice.reason, Reason::nothing_to_move);
}

TEST(Planner, ChoosesWithin3PercentOfTheBestAtTheMedianAnd10AtWorst) {
  std::minstd_rand random(3);
  std::uniform_real_distribution<double> log_piece(std::log(2 * kKiB), std::log(8192 * kKiB));
  std::uniform_real_distribution<double> log_count(0, std::log(5000));
  std::uniform_real_distribution<double> wobble(0.7, 1.4);
  std::vector<double> regrets;
  for (int link = 0; link < 20; ++link) {
    auto ways = kPcie;
    for (SyntheticWay& way : ways) way.bandwidth *= wobble(random);
    const CurveSet curves = by_formula(ways);
    for (int i = 0; i < 50; ++i) {
      const auto piece = static_cast<std::size_t>(std::exp(log_piece(random)));
      const auto count = static_cast<std::size_t>(std::exp(log_count(random))) + 1;
      const Way way = choose(curves, job(count, piece)).way;
      double best = 1e9;
      const auto seconds = [&](Way w) {
        return ways[static_cast<std::size_t>(w)].seconds(static_cast<double>(count * piece),
                                                         static_cast<double>(piece));
      };
      for (const Way other : kWays) best = std::min(best, seconds(other));
      regrets.push_back(seconds(way) / best - 1);
    }
  }
  std::ranges::sort(regrets);
  EXPECT_LT(regrets[regrets.size() / 2], 0.03);
  EXPECT_LT(regrets.back(), 0.10);
}

TEST(Planner, ExplainsWhatWhyAndHowLong) {
  const Job j = job(4096, 16 << 10, {Way::each, Way::batched, Way::staged});
  const std::string text = explain(j, choose(by_formula(kPcie), j));
  for (const char* part : {"offload over the host link: 67108864 bytes in 4096 pieces of 16.0 KiB",
                           "measured on this machine", "* staged", "GB/s", "(not possible here)",
                           "staged: it is the fastest"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

// Where one way takes over from another, as the sizes or the numbers of pieces rise.
constexpr std::size_t kKi = 1024;
using Crossings = std::vector<std::pair<Way, std::size_t>>;
template <typename ToPieces, typename Next>
Crossings crossings(Link link, Direction direction, std::size_t first, std::size_t last,
                    ToPieces pieces, Next next) {
  static const CurveSet curves = builtin_curves(device::Kind::cuda);
  Crossings found;
  for (std::size_t at = first; at <= last; at = next(at)) {
    const Way way = choose(curves, {link, direction, pieces(at), kAll}).way;
    if (found.empty() || found.back().first != way) found.emplace_back(way, at);
  }
  return found;
}
Crossings by_count(Link link, Direction direction) {
  return crossings(
      link, direction, 1, 20'000, [](std::size_t n) { return Pieces(n, 16 * kKi); },
      [](std::size_t n) { return n + 1 + n / 50; });
}
// In KiB.
Crossings by_size(Link link, Direction direction) {
  constexpr std::size_t kAllBytes = std::size_t{64} << 20;
  Crossings found = crossings(
      link, direction, 4 * kKi, 4096 * kKi,
      [](std::size_t piece) { return Pieces(kAllBytes / piece, piece); },
      [](std::size_t piece) { return piece + piece / 40 / 16 * 16 + 16; });
  for (auto& [way, bytes] : found) bytes /= kKi;
  return found;
}

TEST(BuiltinCurves, CrossWhereThePageSays) {
  for (const Direction direction : kDirections) {
    EXPECT_EQ(by_count(Link::local, direction), (Crossings{{Way::each, 1}, {Way::kernel, 2}}));
    EXPECT_EQ(by_size(Link::local, direction), (Crossings{{Way::kernel, 4}}));
    EXPECT_EQ(by_count(Link::peer, direction),
              (Crossings{{Way::each, 1}, {Way::kernel, 2}, {Way::staged, 1845}}));
  }
  EXPECT_EQ(by_size(Link::peer, Direction::offload),
            (Crossings{{Way::staged, 4}, {Way::batched, 1546}, {Way::each, 2079}}));
  EXPECT_EQ(by_size(Link::peer, Direction::fetch),
            (Crossings{{Way::staged, 4}, {Way::batched, 1546}, {Way::each, 2028}}));
  EXPECT_EQ(by_count(Link::host, Direction::offload),
            (Crossings{{Way::each, 1}, {Way::batched, 2}, {Way::kernel, 27}, {Way::staged, 103}}));
  EXPECT_EQ(by_size(Link::host, Direction::offload), (Crossings{{Way::staged, 4}}));
  EXPECT_EQ(by_count(Link::host, Direction::fetch),
            (Crossings{{Way::each, 1}, {Way::batched, 2}, {Way::kernel, 6}, {Way::staged, 283}}));
  EXPECT_EQ(by_size(Link::host, Direction::fetch), (Crossings{{Way::staged, 4}}));
}

TEST(BuiltinCurves, StageSmallPiecesOfAGpuAndNeverElsewhere) {
  const CurveSet gpu = builtin_curves(device::Kind::cuda);
  const CurveSet emulated = builtin_curves(device::Kind::emulated);
  const WaySet two{Way::each, Way::staged};
  for (const Link link : kLinks) {
    for (const Direction direction : kDirections) {
      EXPECT_EQ(choose(gpu, {link, direction, Pieces(1000, 16 << 10), two}).way, Way::staged);
      EXPECT_EQ(choose(gpu, {link, direction, Pieces(1000, 4 << 20), two}).way, Way::each);
      EXPECT_FALSE(choose(gpu, {link, direction, Pieces(1, 1), two}).measured);
      for (std::size_t piece = 16; piece <= 1 << 24; piece *= 4) {
        EXPECT_EQ(choose(emulated, {link, direction, Pieces(1000, piece), kAll}).way, Way::each);
      }
    }
  }
}

}  // namespace
}  // namespace aqua::transfer
