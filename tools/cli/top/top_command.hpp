// SPDX-License-Identifier: Apache-2.0
// `aqua top`: what a fleet does now: engines, requests and moves by the router, and the memory that
// is lent by the coordinator.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

struct TopCommand {
  std::string router = "http://127.0.0.1:8080";
  std::string coordinator{};  // "": without one
  bool json = false;
  bool once = false;
  std::chrono::milliseconds interval{1000};
};

[[nodiscard]] CommandLine top_line(TopCommand& command);
[[nodiscard]] Result<TopCommand> parse_top(std::span<const std::string_view> arguments);
// One look. unavailable and others as what it asks.
[[nodiscard]] Result<std::string> run_top(const TopCommand& command);

// What the router says of itself: its answers to /admin/v1/engines, /admin/v1/requests and
// /metrics. `memory`: `aqua status --json`, or "".
struct TopSources {
  std::string engines{}, requests{}, metrics{}, memory{};
};
// Tables for people; at most `most` requests, the largest first. data_loss: a source is not what
// it should be.
[[nodiscard]] Result<std::string> render_top(const TopSources& sources, std::size_t most);
// {"engines": [...], "requests": [...], "moves": [{"kind", "done", "failed", "seconds",
//  "pause_seconds"}], "memory": {...} or null}, on one line. As render_top().
[[nodiscard]] Result<std::string> render_top_json(const TopSources& sources);

}  // namespace aqua::tool
