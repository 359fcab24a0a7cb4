// SPDX-License-Identifier: Apache-2.0
// Orders are what the orchestrator tells a process, a line of JSON each.
//
// Threads: one. Errors: Failure, for a line that is no JSON object.
#pragma once

#include <algorithm>
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
  // Whether next() would not wait, by what was read before; fd() tells only what comes after that.
  [[nodiscard]] bool has_read() const { return !read_.empty() || lines_.ended(); }

  // Whether one is here that ends what the process does. Waits for nothing.
  [[nodiscard]] bool rewire_comes() {
    for (std::string& line : lines_.read(std::chrono::milliseconds(0)))
      read_.push_back(std::move(line));
    return std::ranges::any_of(read_, [](const std::string& line) {
      return line.find("\"listen\"") != std::string::npos;
    });
  }

  // Whether next() would not wait; waits so long for that.
  [[nodiscard]] bool comes(std::chrono::milliseconds patience) {
    if (!has_read()) {
      for (std::string& line : lines_.read(patience)) read_.push_back(std::move(line));
    }
    return has_read();
  }

  // Waits for the next one. None: the orchestrator has closed its end.
  [[nodiscard]] std::optional<nlohmann::json> next() {
    constexpr std::chrono::hours kOneWait{1};  // then it is waited for again
    while (!comes(kOneWait)) continue;
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
