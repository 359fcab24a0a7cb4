// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "transfer/calibration/curve_set.hpp"

namespace aqua::transfer {
namespace {

constexpr std::uint64_t kKiB = 1024;

// One way's cost: each piece takes the time of its descriptor or of its bytes, whichever is
// longer, since the one is prepared while the other moves.
struct Physics {
  double fixed_us = 0;
  double piece_us = 0;
  double gbps = 1;
  double small_gbps = 0;  // of pieces below kSmallPiece; 0: as the others
};
constexpr std::uint64_t kSmallPiece = 28 * kKiB;

Curve curve_of(const Physics& p) {
  std::vector<CurvePoint> points;
  // Where descriptors and bytes take as long; to either side the curve is the model's.
  const auto bend = static_cast<std::uint64_t>(p.piece_us * 1e3 * p.gbps);
  std::set<std::uint64_t> sizes{4 * kKiB, kSmallPiece - 1, kSmallPiece, 4096 * kKiB};
  if (bend > 4 * kKiB) sizes.insert(bend);
  for (const std::uint64_t piece : sizes) {
    const bool small = p.small_gbps > 0 && piece < kSmallPiece;
    const double piece_ns = std::max(p.piece_us * 1e3, static_cast<double>(piece) / p.gbps) +
                            (small ? static_cast<double>(piece) / p.small_gbps : 0);
    for (const std::uint64_t count : {std::uint64_t{1}, (std::uint64_t{64} << 20) / piece}) {
      const double ns = p.fixed_us * 1e3 + static_cast<double>(count) * piece_ns;
      points.push_back({piece, count * piece, static_cast<std::uint64_t>(std::llround(ns))});
    }
  }
  return Curve::make(std::move(points)).value();  // a table of ours: never refused
}

struct LinkPhysics {
  Link link;
  Direction direction;
  std::array<Physics, kWays.size()> ways;  // in the order of Way
};

// Batched copies: 0.5 us a descriptor, and 7.7 GB/s at most below 28 KiB (H100, PCIe; assumed
// for the other links as well). Bulk copies: 0.87 of PCIe 5, 0.88 of NVLink 4. The rest are
// guesses that wait for hardware.
constexpr LinkPhysics kGpu[] = {
    {Link::local,
     Direction::offload,
     {{{5, 1.6, 1300}, {8, 0.5, 1300, 7.7}, {16, 0.002, 600}, {7, 0.002, 1200}}}},
    {Link::local,
     Direction::fetch,
     {{{5, 1.6, 1300}, {8, 0.5, 1300, 7.7}, {16, 0.002, 600}, {7, 0.002, 1200}}}},
    {Link::peer,
     Direction::offload,
     {{{6, 1.6, 397}, {8, 0.5, 397, 7.7}, {16, 0.002, 360}, {9, 0.002, 300}}}},
    {Link::peer,
     Direction::fetch,
     {{{6, 1.6, 395}, {8, 0.5, 395, 7.7}, {16, 0.002, 360}, {9, 0.002, 300}}}},
    {Link::host,
     Direction::offload,
     {{{6, 1.6, 55.2}, {8, 0.5, 55.2, 7.7}, {16, 0.002, 53.5}, {9, 0.002, 52.8}}}},
    {Link::host,
     Direction::fetch,
     {{{6, 1.6, 55.4}, {8, 0.5, 55.4, 7.7}, {16, 0.002, 53.5}, {9, 0.002, 35.3}}}},
};
constexpr std::array<Physics, kWays.size()> kCpu{
    {{20, 0.05, 8}, {20, 0.05, 8}, {40, 0.1, 4}, {20, 0.05, 8}}};

void fill(CurveSet& set, Link link, Direction direction,
          const std::array<Physics, kWays.size()>& ways) {
  for (const Way way : kWays) {
    set.at(link, direction, way) = curve_of(ways[static_cast<std::size_t>(way)]);
  }
}

}  // namespace

CurveSet builtin_curves(device::Kind kind) {
  CurveSet set;
  if (kind == device::Kind::cuda) {
    for (const LinkPhysics& p : kGpu) fill(set, p.link, p.direction, p.ways);
    return set;
  }
  for (const Link link : kLinks) {
    for (const Direction direction : kDirections) fill(set, link, direction, kCpu);
  }
  return set;
}

void CurveSet::merge(const CurveSet& other) {
  for (const Link link : kLinks) {
    if (other.measured(link)) of(link) = other.links_[index(link)];
  }
}

}  // namespace aqua::transfer
