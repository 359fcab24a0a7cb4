// SPDX-License-Identifier: Apache-2.0
// Profile: what `aqua profile` found for one model on one device (Aqua, section 4), and what
// Runtime::open() makes of it. A JSON file; docs/plan/profiling.md has every field, and
// docs/plan/profile.schema.json the schema.
//
// Threads: plain values and functions.
// Units:   bytes; requests per second of the engine's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/export.h"
#include "aqua/northbound/load.hpp"
#include "aqua/result.hpp"

namespace aqua {

enum class ProfileRole : std::uint8_t {
  producer,  // has memory to spare at the highest load it can serve
  consumer,  // wants a neighbour's
  neutral,   // neither
};

[[nodiscard]] constexpr std::string_view to_string(ProfileRole role) noexcept {
  switch (role) {
    case ProfileRole::producer:
      return "producer";
    case ProfileRole::consumer:
      return "consumer";
    case ProfileRole::neutral:
      return "neutral";
  }
  return "neutral";
}

struct Profile {
  ProfileRole role = ProfileRole::neutral;
  // The highest rate that met the SLA; 0: none did, or not one was tried.
  double max_rps = 0;
  // Requests that waited for their first token at that rate, mean.
  double queue_length = 0;
  // All KV memory of the engine; 0: unknown.
  std::size_t kv_bytes = 0;
  // The part of kv_bytes that is never used at max_rps.
  std::size_t free_bytes = 0;
  // What the engine wants beyond kv_bytes for bursts, prefixes and long prompts.
  std::size_t swap_bytes = 0;
  // A producer has at least so much free.
  std::size_t threshold_bytes = 10'000'000'000;
  // False: the profiler was stopped before its end. What is here was measured all the same.
  bool complete = true;
  friend bool operator==(const Profile&, const Profile&) = default;
};

inline constexpr std::size_t kMaxProfileText = std::size_t{16} << 20;

// Reads the fields above and skips the measurements that the file was made from. invalid_argument
// names the field, a version that is not known here, or a text longer than kMaxProfileText.
[[nodiscard]] AQUA_API Result<Profile> parse_profile(std::string_view json);
// Reads a file in the same way; not_found when it cannot be read.
[[nodiscard]] AQUA_API Result<Profile> read_profile(const std::string& path);

// Converts it for Runtime::set_profile(). Only a producer's free bytes are ever lent.
[[nodiscard]] inline LoadProfile to_load_profile(const Profile& profile) {
  return {.steady_requests_per_second = profile.max_rps,
          .steady_queue_length = profile.queue_length,
          .kv_bytes_total = profile.kv_bytes,
          .steady_free_bytes = profile.role == ProfileRole::producer ? profile.free_bytes : 0,
          .producer_threshold_bytes = profile.threshold_bytes};
}

}  // namespace aqua
