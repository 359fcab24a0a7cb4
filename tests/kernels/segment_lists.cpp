// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/segment_lists.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace aqua::kernels {
namespace {

constexpr std::uint64_t kUnit = 16;

std::uint64_t round_up_unit(std::uint64_t n) {
  return (n + kUnit - 1) / kUnit * kUnit;
}

// Gives each of `plan.placed` its places: sizes are set, and skews, in dst and src.
SegmentPlan place(SegmentPlan plan, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> order(plan.placed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto lay_out = [&](std::uint64_t Placed::*field, std::uint64_t& end) {
    std::shuffle(order.begin(), order.end(), random);
    end = 64;
    for (const std::size_t i : order) {
      Placed& p = plan.placed[i];
      p.*field += round_up_unit(end);
      end = p.*field + p.bytes + (random() % 4 == 0 ? kUnit : 0);
    }
    end = round_up_unit(end) + 64;
  };
  lay_out(&Placed::dst, plan.dst_bytes);
  lay_out(&Placed::src, plan.src_bytes);
  return plan;
}

}  // namespace

std::vector<Segment> lay(const SegmentPlan& plan, std::byte* dst, const std::byte* src) {
  std::vector<Segment> list;
  list.reserve(plan.placed.size());
  for (const Placed& p : plan.placed) list.push_back({dst + p.dst, src + p.src, p.bytes});
  return list;
}

std::vector<std::byte> expected(const SegmentPlan& plan, std::vector<std::byte> dst,
                                const std::vector<std::byte>& src) {
  for (const Placed& p : plan.placed) {
    if (p.bytes != 0) std::memcpy(dst.data() + p.dst, src.data() + p.src, p.bytes);
  }
  return dst;
}

std::vector<std::byte> random_bytes(std::uint64_t bytes, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> out((bytes + 7) / 8 * 8);
  for (std::size_t i = 0; i < out.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(out.data() + i, &word, 8);
  }
  out.resize(bytes);
  return out;
}

SegmentPlan alike(std::uint64_t count, std::uint64_t bytes, unsigned dst_skew, unsigned src_skew) {
  SegmentPlan plan{std::to_string(count) + " of " + std::to_string(bytes) + " bytes, skews " +
                       std::to_string(dst_skew) + " and " + std::to_string(src_skew),
                   {count, {dst_skew, src_skew, bytes}}};
  return place(std::move(plan), 1);
}

SegmentPlan mixed(std::uint64_t count, std::uint64_t smallest, std::uint64_t largest, bool skewed,
                  std::uint32_t seed) {
  SegmentPlan plan{std::to_string(count) + " of " + std::to_string(smallest) + " to " +
                       std::to_string(largest) + " bytes" + (skewed ? ", skewed" : ""),
                   {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(std::log2(static_cast<double>(smallest)),
                                                  std::log2(static_cast<double>(largest)));
  for (std::uint64_t i = 0; i < count; ++i) {
    auto bytes = static_cast<std::uint64_t>(std::exp2(exponent(random)));
    if (!skewed) bytes = round_up_unit(bytes);
    if (random() % 16 == 0) bytes = 0;
    plan.placed.push_back({skewed ? random() % 16 : 0, skewed ? random() % 16 : 0, bytes});
  }
  return place(std::move(plan), seed);
}

SegmentPlan every_alignment() {
  SegmentPlan plan{"every alignment", {}};
  constexpr std::uint64_t kBorders[] = {1, 15, 16, 17, 31, 48, 511, 512, 527, 4095, 4096, 4111};
  for (unsigned dst = 0; dst < 16; ++dst) {
    for (unsigned src = 0; src < 16; ++src) {
      for (const std::uint64_t bytes : kBorders) plan.placed.push_back({dst, src, bytes});
    }
  }
  return place(std::move(plan), 3);
}

std::vector<SegmentPlan> typical_lists() {
  return {
      every_alignment(),
      alike(1, 1),
      alike(3, 0),
      alike(1, 5 << 20),
      alike(1, (3 << 20) + 7, 5, 5),
      alike(1, (1 << 20) + 7, 5, 6),
      alike(300, 16 << 10),
      alike(300, 16 << 10, 4, 12),
      alike(777, 4 << 10),
      alike(5000, 576),
      alike(64, 36 << 10, 8, 8),
      mixed(2000, 16, 16 << 10, false, 4),
      mixed(2000, 1, 8 << 10, true, 5),
      mixed(50, 1 << 10, 1 << 20, false, 6),
      mixed(50, 1 << 10, 1 << 20, true, 7),
  };
}

}  // namespace aqua::kernels
