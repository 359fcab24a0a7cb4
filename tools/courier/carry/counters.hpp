// SPDX-License-Identifier: Apache-2.0
// What a courier tells people: what it has done so far, in figures, and what happens, in words.
//
// Threads: each figure may be changed and read by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace aqua::courier {

// Called by any thread, with what has gone wrong or is well again.
using Say = std::function<void(const std::string&)>;

struct Counters {
  std::atomic<std::uint64_t> sent{0};      // parcels that the other keeper has
  std::atomic<std::uint64_t> received{0};  // that our keeper has
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> resumed{0};  // had come before, over another connection
  std::atomic<std::uint64_t> refused{0};  // not taken, and offered again
  std::atomic<std::uint64_t> lost_links{0};
  // Connections that are up now: that we have made, and that have come.
  std::atomic<std::uint64_t> links_out{0}, links_in{0};
};

}  // namespace aqua::courier
