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
};

Curve curve_of(const Physics& p) {
  std::vector<CurvePoint> points;
  // Where descriptors and bytes take as long; to either side the curve is the model's.
  const auto bend = static_cast<std::uint64_t>(p.piece_us * 1e3 * p.gbps);
  std::set<std::uint64_t> sizes{4 * kKiB, 4096 * kKiB};
  if (bend > 4 * kKiB) sizes.insert(bend);
  for (const std::uint64_t piece : sizes) {
    const double piece_ns = std::max(p.piece_us * 1e3, static_cast<double>(piece) / p.gbps);
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

// Curves of an H100 on PCIe 5 (bench/results/gpu/planner-h100-2026-11-26.json and those beside it),
// rounded; kernels with the shares of src/device/cuda/memory.cpp. What is fixed holds for the links
// between GPUs as well; their rates are 0.88 of NVLink 4 and guesses, which wait for hardware.
constexpr LinkPhysics kGpu[] = {
    {Link::local,
     Direction::offload,
     {{{26.5, 5.5, 1400}, {33, 4.8, 1400}, {50, 0.002, 640}, {32, 0.002, 1200}}}},
    {Link::local,
     Direction::fetch,
     {{{26.5, 5.5, 1400}, {33, 4.8, 1400}, {50, 0.002, 610}, {32, 0.002, 1200}}}},
    {Link::peer,
     Direction::offload,
     {{{26.5, 5.5, 397}, {33, 4.8, 397}, {50, 0.002, 360}, {32, 0.002, 300}}}},
    {Link::peer,
     Direction::fetch,
     {{{26.5, 5.5, 395}, {33, 4.8, 395}, {50, 0.002, 360}, {32, 0.002, 300}}}},
    {Link::host,
     Direction::offload,
     {{{28, 2.3, 55.2}, {30, 0.6, 54.5}, {45, 0.002, 54.6}, {35, 0.002, 41.8}}}},
    {Link::host,
     Direction::fetch,
     {{{28, 2.8, 55.2}, {30, 0.9, 54.3}, {42, 0.002, 54.6}, {33, 0.002, 50.0}}}},
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
