// SPDX-License-Identifier: Apache-2.0
// Orders are what the orchestrator tells a process, a line of JSON each.
//
// Threads: one. Errors: Failure, for a line that is no JSON object.
#pragma once

#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "json_lines.hpp"

namespace aqua::pipeline {

class Orders {
 public:
  explicit Orders(int fd) : fd_(fd), lines_(fd) {}
  [[nodiscard]] int fd() const { return fd_; }

  // Waits for the next one. None: the orchestrator has closed its end.
  [[nodiscard]] std::optional<nlohmann::json> next() {
    constexpr std::chrono::hours kOneWait{1};  // then it is waited for again
    while (read_.empty() && !lines_.ended()) {
      for (std::string& line : lines_.read(kOneWait)) read_.push_back(std::move(line));
    }
    if (read_.empty()) return {};
    auto order = example::parse_line(read_.front());
    read_.pop_front();
    return order;
  }

 private:
  const int fd_;
  example::LineReader lines_;
  std::deque<std::string> read_{};
};

}  // namespace aqua::pipeline
