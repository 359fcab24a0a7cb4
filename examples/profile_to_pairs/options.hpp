// SPDX-License-Identifier: Apache-2.0
// The command line of placed_engine.
#pragma once

#include <filesystem>
#include <string>

#include "aqua/runtime.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::example {

struct PlacedOptions {
  std::string name{};                 // the model's id in the placement
  std::string coordinator{};          // of the server that it was placed on
  std::string device = "emu:0";       // another one for each engine of a server
  std::filesystem::path profile{};    // of `aqua profile`
  std::filesystem::path directory{};  // for sockets; private to the server
};

// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine placed_line(PlacedOptions& options);
// Throws Failure naming the options without which it cannot run.
void check_placed(const PlacedOptions& options);

inline constexpr std::size_t kPlacedSlabBytes = std::size_t{4} << 20;

// What runtimes of both roles have in common, the profile among it, on a device with at least so
// many bytes.
[[nodiscard]] RuntimeOptions runtime_options(const PlacedOptions& options,
                                             std::size_t device_bytes);

}  // namespace aqua::example
