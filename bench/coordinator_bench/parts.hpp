// SPDX-License-Identifier: Apache-2.0
// The parts of the benchmark. Each starts the servers that it needs, tells on stderr what it
// does, and returns what it found.
//
// Threads: one; none other may run, for the parts fork.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coordinator_bench/options.hpp"
#include "coordinator_bench/server.hpp"
#include "harness.hpp"

namespace aqua::bench {

[[nodiscard]] nlohmann::json measure_saturation(const BenchOptions& options);
[[nodiscard]] nlohmann::json measure_open_loop(const BenchOptions& options);
[[nodiscard]] nlohmann::json measure_fan_out(const BenchOptions& options);
[[nodiscard]] nlohmann::json measure_scale(const BenchOptions& options);

// The arguments of a daemon whose clients never fall silent, and `extra`.
[[nodiscard]] std::vector<std::string> daemon_arguments(const std::vector<std::string>& extra = {});
[[nodiscard]] Server server_of(const Coordinator& daemon);

}  // namespace aqua::bench
