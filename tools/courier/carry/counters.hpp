// SPDX-License-Identifier: Apache-2.0
// What a courier tells people: what it has done so far, in figures, and what happens, in words.
//
// Threads: each figure may be changed and read by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace aqua::courier {

// What has happened, in a word for programs and in a sentence for people.
enum class Event : std::uint8_t { connected, lost, visitor, visitor_lost, parcel, copy, trouble };
[[nodiscard]] constexpr std::string_view to_string(Event event) noexcept {
  switch (event) {
    case Event::connected:  // to another server
      return "connected";
    case Event::lost:  // that connection, or the keeper
      return "lost";
    case Event::visitor:  // another server has connected
      return "visitor";
    case Event::visitor_lost:  // that connection
      return "visitor_lost";
    case Event::parcel:  // one that is not carried for now
      return "parcel";
    case Event::copy:  // a segment that another server does not get: no room, or it cannot be read
      return "copy";
    case Event::trouble:
      break;
  }
  return "trouble";
}

// Called by any thread.
using Say = std::function<void(Event, const std::string&)>;

struct Counters {
  std::atomic<std::uint64_t> sent{0};      // parcels that the other keeper has
  std::atomic<std::uint64_t> received{0};  // that our keeper has
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> mirrored{0};  // copies that the other keeper has
  std::atomic<std::uint64_t> mirrored_bytes{0};
  std::atomic<std::uint64_t> copies{0};  // of others' segments, that our keeper has got
  std::atomic<std::uint64_t> copies_bytes{0};
  std::atomic<std::uint64_t> resumed{0};  // had come before, over another connection
  std::atomic<std::uint64_t> refused{0};  // parcels and copies that were not taken
  std::atomic<std::uint64_t> lost_links{0};
  std::atomic<std::uint64_t> links_in{0};      // connections of others that are up now
  std::atomic<std::uint64_t> ucx_links_in{0};  // of these, where UCX moves the bytes
};

}  // namespace aqua::courier
