// SPDX-License-Identifier: Apache-2.0
// The command line of llama_serve.
#pragma once

#include <string>

#include "aqua/schedule/scheduler.hpp"
#include "engine_clock.hpp"
#include "neighbour_role.hpp"

namespace aqua::llama_example {

struct ServeOptions {
  std::string model, policy{schedule::kDefaultPolicy}, json, metrics;
  EngineClock::Kind clock = EngineClock::Kind::wall;
  unsigned requests = 60, prompt = 200, output = 40, seed = 1, threads = 1;
  double rate = 0.5;
  unsigned kv_tokens = 2048, chunk = 128, slice = 16;
  double seconds_per_token = schedule::SchedulerOptions{}.seconds_per_token;
  // With the prefix cache the load is served twice.
  bool prefix_cache = false, lose_hits = false;
  unsigned shared = 512, groups = 4, block = 64;
  std::size_t swap_mib = 256;
  example::NeighbourRole role{};
};

[[nodiscard]] CommandLine serve_line(ServeOptions& options);
// Throws Failure where options do not go together.
void check(const ServeOptions& options);

}  // namespace aqua::llama_example
