// SPDX-License-Identifier: Apache-2.0
// Lists of segments as offsets into two areas, to be laid over host or device memory.
// Destinations are disjoint, in shuffled order, with gaps for canaries between some.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/copy.hpp"

namespace aqua::kernels {

struct Placed {
  std::uint64_t dst, src, bytes;
};

struct SegmentPlan {
  std::string name;
  std::vector<Placed> placed;
  std::uint64_t dst_bytes = 0;  // of either area
  std::uint64_t src_bytes = 0;
};

// Both areas are aligned to 256 bytes.
std::vector<Segment> lay(const SegmentPlan& plan, std::byte* dst, const std::byte* src);

// What the destination area holds after the copy, from what it held before and the source.
std::vector<std::byte> expected(const SegmentPlan& plan, std::vector<std::byte> dst,
                                const std::vector<std::byte>& src);

std::vector<std::byte> random_bytes(std::uint64_t bytes, std::uint32_t seed);

// `count` segments of `bytes`, each at a multiple of `spacing` plus its misalignment.
SegmentPlan alike(std::uint64_t count, std::uint64_t bytes, unsigned dst_skew = 0,
                  unsigned src_skew = 0);
// Sizes from `smallest` to `largest`, evenly over the powers of two between; some are empty.
// `skewed`: any alignment; otherwise multiples of 16.
SegmentPlan mixed(std::uint64_t count, std::uint64_t smallest, std::uint64_t largest, bool skewed,
                  std::uint32_t seed);
// Every pair of misalignments modulo 16, sizes around the words' and passes' borders.
SegmentPlan every_alignment();

// A set of lists that between them take every path; a few MiB each.
std::vector<SegmentPlan> typical_lists();

}  // namespace aqua::kernels
