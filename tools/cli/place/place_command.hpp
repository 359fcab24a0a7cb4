// SPDX-License-Identifier: Apache-2.0
// aqua place: which model on which server, and who lends to whom.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "tools/place/solve.hpp"

namespace aqua::tool {

struct PlaceCommand {
  std::string placed{};  // path of a placement made before, to be posted; instead of `input`
  std::string input{};   // path; "-": standard input
  std::string out{};     // where the placement goes, as JSON; empty: only shown
  std::string svg{};     // where the picture goes; empty: none
  bool explain = false;
  bool json = false;                // print the placement instead of a text
  bool dry_run = false;             // show it all, write nothing, post nothing
  std::vector<std::string> post{};  // coordinators that are told their pairs
  std::string post_all{};           // a coordinator; all servers that it knows are told theirs
  place::SolveOptions solve{};
};

// The line that fills `command`, which must outlive it.
[[nodiscard]] CommandLine place_line(PlaceCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<PlaceCommand> parse_place(std::span<const std::string_view> arguments);
// Blocks for about the time limit at most. The text to print.
[[nodiscard]] Result<std::string> run_place(const PlaceCommand& command);

}  // namespace aqua::tool
