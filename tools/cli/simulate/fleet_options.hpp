// SPDX-License-Identifier: Apache-2.0
// The options of `aqua simulate --pack`: several engines that a packer rules.
#pragma once

#include <string>

#include "aqua/packing/divide.hpp"
#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

struct FleetOptions {
  std::string pack{};  // packers, by commas; none: a single engine
  unsigned engines = 64;
  unsigned engines_per_server = 8;
  double network_gbps = 25;  // GB/s of a server
  unsigned spare = 1;
  double boot_s = 30;
  double linger_s = 60;
  bool lend = false;
  bool fixed = false;
  double epoch_s = 1;
  double watermark = 0.05;
  packing::Allowed moves = packing::Allowed::both;
  bool free_moves = false;
  std::string placements{};
};

void add_fleet(CommandLine& line, FleetOptions& options);
// invalid_argument: options that say nothing without --pack, or contradict each other; a packer
// that there is not, or is named twice.
[[nodiscard]] Result<void> check_fleet(const FleetOptions& options);

}  // namespace aqua::tool
