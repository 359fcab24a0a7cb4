// SPDX-License-Identifier: Apache-2.0
// How large a launch is, which kernel suits it, and what that is given.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/copy_geometry.hpp"
#include "kernels/copy_ring.hpp"

namespace aqua::kernels {

struct Shape {
  unsigned ctas;
  unsigned warps;             // of one CTA
  std::uint64_t share_bytes;  // of one warp; ctas * warps * share_bytes cover the line
};

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t to) {
  return ceil_div(a, to) * to;
}

// `ctas` at most, every warp a whole number of `step`s of the line.
constexpr Shape even_shape(std::uint64_t total_bytes, unsigned ctas, unsigned warps,
                           std::uint64_t step) {
  const std::uint64_t all_warps = std::uint64_t{ctas} * warps;
  const std::uint64_t share = std::max(step, round_up(ceil_div(total_bytes, all_warps), step));
  return {static_cast<unsigned>(ceil_div(ceil_div(total_bytes, share), warps)), warps, share};
}

// Bounded: one CTA of 512 threads on an SM, which has 64 KiB in flight and takes 11/16 of its
// registers: small kernels of the engine still fit beside it. Free: shares small enough that the
// hardware evens out SMs of different speed, and small copies reach every SM. total_bytes and
// sms are not 0.
constexpr Shape vector_shape(std::uint64_t total_bytes, unsigned sms, unsigned max_sms) {
  if (max_sms != 0 && max_sms < sms) return even_shape(total_bytes, max_sms, 16, kPassBytes);
  constexpr unsigned kWarps = 8;
  constexpr std::uint64_t kLargestShare = 32 * 1024;
  const std::uint64_t even = round_up(ceil_div(total_bytes, std::uint64_t{sms} * 32), kPassBytes);
  const std::uint64_t share = std::min(even, kLargestShare);
  return {static_cast<unsigned>(ceil_div(ceil_div(total_bytes, share), kWarps)), kWarps, share};
}

// One CTA of `warps` rings on an SM.
constexpr Shape bulk_shape(std::uint64_t total_bytes, unsigned sms, unsigned max_sms,
                           unsigned warps) {
  return even_shape(total_bytes, max_sms != 0 ? std::min(sms, max_sms) : sms, warps, kStageBytes);
}

// What the kernels take. Sizes that add up to `count` times the largest are all alike.
constexpr CopyPlan plan_of(const CopyLaunch& launch, const Shape& shape) {
  const bool alike = launch.largest_bytes * launch.count == launch.total_bytes;
  return {launch.segments, launch.count, launch.total_bytes, alike ? launch.largest_bytes : 0,
          shape.share_bytes};
}

constexpr BlockPlan plan_of(const BlockLaunch& launch, const Shape& shape) {
  return {launch, shape.share_bytes};
}

// How many rings a CTA has: two, less than half of an SM's shared memory where that is large,
// with 72 KiB in flight. 0: not even one fits.
constexpr unsigned bulk_warps(std::uint64_t shared_bytes) {
  return static_cast<unsigned>(std::min<std::uint64_t>(2, shared_bytes / sizeof(RingMemory)));
}

}  // namespace aqua::kernels
