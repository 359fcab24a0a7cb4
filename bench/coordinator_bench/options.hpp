// SPDX-License-Identifier: Apache-2.0
// What coordinator_bench is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace aqua::bench {

struct BenchOptions {
  std::string binary = "build/release/coordinator/aqua-coordinator";
  std::string directory = "/tmp";  // the disk that durable grants wait for
  std::string only;                // "" for all parts
  std::string json;                // file; "" for none
  std::size_t clients = 256;
  std::size_t rounds = 5;                   // of the daemon and the bare server in alternation
  std::chrono::milliseconds measure{2000};  // each of them
  std::chrono::milliseconds open_loop{20000};

  [[nodiscard]] bool wants(std::string_view part) const { return only.empty() || only == part; }
};

// Ends this process for --help and for mistakes.
[[nodiscard]] BenchOptions parse_bench_options(int argc, char** argv);

}  // namespace aqua::bench
