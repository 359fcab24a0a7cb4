// SPDX-License-Identifier: Apache-2.0
// The text form of a device's measured curves. Strict: a text is taken only if it is, byte
// for byte, what print_curves() writes for what it says.
//
//   aqua-curves 1
//   library 0.1.0
//   driver CUDA 13.0
//   device 00112233445566778899aabbccddeeff
//   host offload each 3
//   4096 4096 9876
//   ...
//   end 8c3b1f2e90d4a567
//
// Each curve has its number of points, then the points, sorted: piece bytes, bytes of all,
// nanoseconds. The last line is the FNV-1a hash of all before it, against truncation and
// bad disks, not against forgery: what can be forged is a slow way, never wrong bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "transfer/calibration/curve_set.hpp"

namespace aqua::transfer {

// Curves are good for one device, below one driver, in one version of this library.
struct CurveKey {
  std::string library{};
  std::string driver{};  // device::Info::driver
  DeviceUuid device{};
  friend bool operator==(const CurveKey&, const CurveKey&) = default;
};
[[nodiscard]] CurveKey key_of(const device::Info& info);

struct CurveFile {
  CurveKey key;
  CurveSet curves;  // the measured ones
};

inline constexpr std::size_t kMaxCurveText = std::size_t{1} << 20;

// Strings of the key: characters that are not printable ASCII become '?'.
[[nodiscard]] std::string print_curves(const CurveKey& key, const CurveSet& curves);
// invalid_argument, naming the line.
[[nodiscard]] Result<CurveFile> parse_curves(std::string_view text);

}  // namespace aqua::transfer
