// SPDX-License-Identifier: Apache-2.0
// The command line of placed_engine.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "aqua/runtime.hpp"

namespace aqua::example {

struct PlacedOptions {
  bool help = false;
  std::string name{};                 // the model's id in the placement
  std::string coordinator{};          // of the server that it was placed on
  std::string device = "emu:0";       // another one for each engine of a server
  std::filesystem::path profile{};    // of `aqua profile`
  std::filesystem::path directory{};  // for sockets; private to the server
};

// Throws Failure naming the argument and what it should be.
[[nodiscard]] PlacedOptions parse_placed_options(std::span<const char* const> arguments);
[[nodiscard]] std::string_view placed_usage();

inline constexpr std::size_t kPlacedSlabBytes = std::size_t{4} << 20;

// What runtimes of both roles have in common, the profile among it, on a device with at least so
// many bytes.
[[nodiscard]] RuntimeOptions runtime_options(const PlacedOptions& options,
                                             std::size_t device_bytes);

}  // namespace aqua::example
