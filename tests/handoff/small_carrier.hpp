// SPDX-License-Identifier: Apache-2.0
// A SegmentCarrier small enough for tests.
#pragma once

#include <string>

#include "aqua/handoff/segment_carrier.hpp"

namespace aqua::test {

inline SegmentCarrierOptions small_carrier(const std::string& keeper, const std::string& role) {
  return {.name = "carried",
          .role = role,
          .parcel_bytes = std::size_t{1} << 20,
          .ready = 2,
          .keeper = keeper};
}

}  // namespace aqua::test
