// SPDX-License-Identifier: Apache-2.0
// A time of day for logs: "2026-01-31T12:00:00.123Z" (RFC 3339, UTC).
//
// Threads: free function.
#pragma once

#include <time.h>

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

#include "base/concat.hpp"

namespace aqua::daemon {

[[nodiscard]] inline std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  const std::string millis = std::to_string(1000 + ms.count() % 1000).substr(1);
  return concat(std::string_view(text, length), ".", millis, "Z");
}

}  // namespace aqua::daemon
