// SPDX-License-Identifier: Apache-2.0
// The command line of fleet_engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "serve/cache.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::fleet {

struct Options {
  int port = 0;
  std::string coordinator = "none";
  std::uint32_t blocks = 512;  // of the pool, that this engine may hold
  std::uint32_t budget_tokens = 256;
  double iteration_ms = 0;
  std::string device = "emu:0";
  // Without a request for so long, an engine whose KV is in memory of its own lends it.
  std::chrono::milliseconds lend_after{0};  // 0: never
  CacheOptions cache{};
  std::string step{};  // at which it stops or is killed
  bool stop = false;

  [[nodiscard]] std::string model_name() const;
};

[[nodiscard]] CommandLine options_line(Options& options);
// Throws Failure where options do not go together.
void check_options(const Options& options);

}  // namespace aqua::fleet
