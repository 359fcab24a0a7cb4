// SPDX-License-Identifier: Apache-2.0
// What a courier has done so far, for people.
//
// Threads: each figure may be changed and read by any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace aqua::courier {

struct Counters {
  std::atomic<std::uint64_t> sent{0};      // parcels that the other keeper has
  std::atomic<std::uint64_t> received{0};  // that our keeper has
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> resumed{0};  // had come before, over another connection
  std::atomic<std::uint64_t> refused{0};  // not taken, and offered again
  std::atomic<std::uint64_t> lost_links{0};
  std::atomic<std::uint64_t> routes_up{0};  // to others
  std::atomic<std::uint64_t> links{0};      // that are up now, in either direction
};

}  // namespace aqua::courier
