// SPDX-License-Identifier: Apache-2.0
// What a process is to be that an example starts of its own program, and the command line by which
// it learns of it (neighbours.cpp writes it).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "tools/options/command_line.hpp"

namespace aqua::example {

struct NeighbourRole {
  enum class Kind : std::uint8_t { none, coordinator, lender };
  Kind kind = Kind::none;               // none: it is what people start
  std::filesystem::path coordinator{};  // the daemon's program; empty: looked for
  std::filesystem::path directory{};    // of sockets and data; private to the run
  std::size_t lend_bytes = 0;
  pid_t parent = 0;
};

// --coordinator-binary, and what only the processes that an example starts are given.
void add_role_options(CommandLine& line, NeighbourRole& role);

// Runs a role other than none. Returns the exit status, or throws Failure.
[[nodiscard]] int run_neighbour(const NeighbourRole& role);

// The run() of an example whose Options have a `role`: what people start is the engine.
template <typename Options, int (*run_engine)(const Options&)>
int run_role(const Options& options) {
  if (options.role.kind != NeighbourRole::Kind::none) return run_neighbour(options.role);
  return run_engine(options);
}

}  // namespace aqua::example
