// SPDX-License-Identifier: Apache-2.0
// aqua calibrate: measures how fast this machine copies, shows it, keeps it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

struct CalibrateCommand {
  std::string device = "emu:0";
  std::string peer{};       // a neighbour, for the peer link; empty: not measured
  std::string directory{};  // of the curves' file; empty: the user's cache; "off": not kept
  std::size_t mib = 64;     // the largest transfer measured; more where caches are large
  bool cached = false;      // show what is kept, where it is good, instead of measuring
  bool json = false;
  bool plot = false;
  struct Explain {
    std::size_t bytes = 0;
    std::size_t block = 0;
  };
  std::optional<Explain> explain{};
};

// The line that fills `command`, which must outlive it.
[[nodiscard]] CommandLine calibrate_line(CalibrateCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<CalibrateCommand> parse_calibrate(std::span<const std::string_view> arguments);
// Blocks for some seconds. The text to print.
[[nodiscard]] Result<std::string> run_calibrate(const CalibrateCommand& command);

}  // namespace aqua::tool
