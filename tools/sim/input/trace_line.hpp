// SPDX-License-Identifier: Apache-2.0
// One line of a trace in each format; trace.cpp puts them together.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tools/sim/input/trace.hpp"

namespace aqua::sim {

struct TraceLine {
  double at = 0;  // seconds since any origin
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;
};

// Appends a Mooncake line's blocks to `hashes`. The error's text lacks file and line.
[[nodiscard]] Result<TraceLine> parse_trace_line(TraceFormat format, std::string_view line,
                                                 const TraceLimits& limits,
                                                 std::vector<std::uint64_t>& hashes);
// By the first line of a file.
[[nodiscard]] std::optional<TraceFormat> format_of(std::string_view first_line);
// "2023-11-16 18:15:46.6805900", fraction and "+00:00" optional; seconds since 1970.
[[nodiscard]] std::optional<double> parse_timestamp(std::string_view text);

}  // namespace aqua::sim
