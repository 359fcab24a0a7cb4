// SPDX-License-Identifier: Apache-2.0
// The manual page of `aqua` and a shell's completion, made of what its commands declare: whatever
// --help shows stands there as well.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/command_line.hpp"

namespace aqua::tool {

// What is told of a command.
struct Page {
  std::string name;
  std::string summary;  // in a few words
  std::string help;     // of --help
  std::string about;    // "Usage: ...", an empty line, what it does
  std::vector<OptionText> options;
};

// In the language of man(7).
[[nodiscard]] std::string manual_page(std::span<const Page> pages, std::string_view version);
// To be sourced by bash.
[[nodiscard]] std::string bash_completion(std::span<const Page> pages);

}  // namespace aqua::tool
