// SPDX-License-Identifier: Apache-2.0
// aqua segments: what a keeper keeps of segments, and how it is dropped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

enum class SegmentsAction : std::uint8_t { list, drop };

struct SegmentsCommand {
  SegmentsAction action = SegmentsAction::list;
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  std::string keeper{};
  bool json = false;
};

[[nodiscard]] CommandLine segments_line(SegmentsCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<SegmentsCommand> parse_segments(std::span<const std::string_view> arguments);
// The text to print.
[[nodiscard]] Result<std::string> run_segments(const SegmentsCommand& command);

}  // namespace aqua::tool
