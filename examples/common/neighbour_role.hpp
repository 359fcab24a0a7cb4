// SPDX-License-Identifier: Apache-2.0
// What a process is to be that an example starts of its own program, and the command line by which
// it learns of it (neighbours.cpp writes it).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "option_table.hpp"

namespace aqua::example {

struct NeighbourRole {
  enum class Kind : std::uint8_t { none, coordinator, lender };
  Kind kind = Kind::none;               // none: it is what people start
  std::filesystem::path coordinator{};  // the daemon's program; empty: looked for
  std::filesystem::path directory{};    // of sockets and data; private to the run
  std::size_t lend_bytes = 0;
  pid_t parent = 0;
};

[[nodiscard]] inline NeighbourRole::Kind neighbour_kind(std::string_view text) {
  if (text == "coordinator") return NeighbourRole::Kind::coordinator;
  if (text == "lender") return NeighbourRole::Kind::lender;
  throw Failure("--role " + std::string(text) + ": expected coordinator or lender");
}

template <typename Options>
void add_role_options(OptionTable<Options>& table, NeighbourRole Options::*role) {
  table
      .value("--coordinator-binary",
             [=](auto& o, auto&, auto text) { (o.*role).coordinator = text; })
      .value("--role", [=](auto& o, auto&, auto text) { (o.*role).kind = neighbour_kind(text); })
      .value("--directory", [=](auto& o, auto&, auto text) { (o.*role).directory = text; })
      .value("--lend-bytes",
             [=](auto& o, auto& name, auto text) {
               (o.*role).lend_bytes = number<std::size_t>(name, text, 1, SIZE_MAX);
             })
      .value("--parent", [=](auto& o, auto& name, auto text) {
        (o.*role).parent = number<pid_t>(name, text, 1, INT32_MAX);
      });
}

// Runs a role other than none. Returns the exit status, or throws Failure.
[[nodiscard]] int run_neighbour(const NeighbourRole& role);

// The run() of an example whose Options have a `role`: what people start is the engine.
template <typename Options, int (*run_engine)(const Options&)>
int run_role(const Options& options) {
  if (options.role.kind != NeighbourRole::Kind::none) return run_neighbour(options.role);
  return run_engine(options);
}

}  // namespace aqua::example
