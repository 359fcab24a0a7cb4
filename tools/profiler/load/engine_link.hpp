// SPDX-License-Identifier: Apache-2.0
// EngineLink: the engine being profiled: where it is, which model it serves, how fast its clock
// runs. What every request to it has in common.
//
// The engine's clock: a simulated engine runs `speed` times as fast as ours. Seconds in profiles,
// limits and rates are always the engine's; only what waits for the network is ours.
#pragma once

#include <chrono>
#include <string>

#include "tools/http/http_client.hpp"
#include "tools/profiler/load/completion.hpp"

namespace aqua::profiler {

using Clock = std::chrono::steady_clock;
using http::EngineUrl, http::HttpClient, http::HttpOptions, http::Heard, http::Reply;

struct EngineLink {
  EngineUrl url{};
  HttpOptions http{};
  std::string model{};
  double speed = 1;

  [[nodiscard]] Clock::duration ours(double engine_seconds) const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(engine_seconds / speed));
  }
  [[nodiscard]] double theirs(Clock::duration time) const {
    return std::chrono::duration<double>(time).count() * speed;
  }
};

// Body of a GET with status 200. not_found for 404; unavailable, with what it said, for others.
[[nodiscard]] Result<std::string> fetch(const EngineLink& engine, const std::string& path);

}  // namespace aqua::profiler
