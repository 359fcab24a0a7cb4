// SPDX-License-Identifier: Apache-2.0
// The links of an emulated GPU: one to host memory and one to other devices' memory, each way by
// itself. All streams of the device share a link: what one of them moves holds up the others,
// in the order in which their copies begin.
//
// Threads: any.
// Units:   bytes, and bytes per second.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "device/memfd/range.hpp"

namespace aqua::device {

struct LinkRates {
  std::uint64_t host = 0;  // 0: as fast as the host copies
  std::uint64_t peer = 0;
};

// The bytes of copies that cross each link, in this order: from the host, to it, from peers, to
// them. Between two places that are neither this device's, they cross twice.
using Crossing = std::array<std::uint64_t, 4>;
void add_crossing(Crossing& total, const CopySegment& segment, const MappedRegions& regions);

class Links {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Links(const LinkRates& rates) : rates_{rates.host, rates.host, rates.peer, rates.peer} {}

  // Whether any copy may have to wait.
  [[nodiscard]] bool paced() const noexcept { return rates_[0] != 0 || rates_[2] != 0; }
  // Takes the links' time for a copy that begins at `now`. When it is over; `now` where it crosses
  // no link that has a rate.
  [[nodiscard]] Time take(const Crossing& bytes, Time now);

 private:
  const Crossing rates_;
  Mutex mu_;
  std::array<Time, 4> free_ AQUA_GUARDED_BY(mu_){};  // from then on
};

}  // namespace aqua::device
