// SPDX-License-Identifier: Apache-2.0
// The planner: which way a transfer takes, from the curves of its link. Pure: no clock, no
// device, no state.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "transfer/calibration/curve_set.hpp"

namespace aqua::transfer {

struct Job {
  Link link = Link::host;
  Direction direction = Direction::offload;
  Pieces pieces{};
  // What the device, the stream and free staging allow; not empty. The planner itself rules out
  // staging for less than two pieces: they are one copy already.
  WaySet possible{Way::each};
};

enum class Reason : std::uint8_t {
  nothing_to_move,
  asked_for,  // the caller named the way
  only_one,   // no other way is possible
  fastest,
  as_fast,  // within kTie of the fastest, and takes less from the engine
  steady,   // staged: within kSteady of single copies or batches, which two directions slow down
};

struct Estimate {
  Way way = Way::each;
  bool possible = false;
  double seconds = 0;  // 0: no curve
};

struct Choice {
  Way way = Way::each;
  Reason reason = Reason::nothing_to_move;
  std::array<Estimate, kWays.size()> estimates{};  // in the order of Way
  bool measured = false;                           // on this machine
  [[nodiscard]] double seconds() const noexcept {
    return estimates[static_cast<std::size_t>(way)].seconds;
  }
};

// Ways whose times differ by less than this share are equally fast.
inline constexpr double kTie = 0.01;
// Single copies and batches over the host link of a device that has batches (a CPU that copies has
// none) must be faster than staging by more than this share.
// Curves are of one direction. With both at work, blocks of 64 to 512 KiB went by single copies at
// 0.20 to 0.62 of bulk copies' rate, by batches at 0.71 to 0.92, staged at 1.02 to 1.10
// (docs/plan/gpu.md).
inline constexpr double kSteady = 0.08;

// A way without a curve is taken only where no possible way has one. At least one is possible.
[[nodiscard]] Choice choose(const CurveSet& curves, const Job& job) noexcept;

[[nodiscard]] std::string_view to_string(Reason reason) noexcept;

// What is moved, the time of each way, and why the one was chosen; lines for people.
[[nodiscard]] std::string explain(const Job& job, const Choice& choice);

}  // namespace aqua::transfer
