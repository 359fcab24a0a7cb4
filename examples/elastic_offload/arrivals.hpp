// SPDX-License-Identifier: Apache-2.0
// Arrivals holds the requests that a consumer was told of until they arrive.
//
// Threads: one.
#pragma once

#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "workload.hpp"

namespace aqua::example {

class Arrivals {
 public:
  using Clock = std::chrono::steady_clock;

  struct Arrived {
    WorkItem item;
    Clock::time_point at;  // when its user began to wait
  };

  // Takes the requests of a "submit" (roles.hpp), in order of arrival.
  void submit(const nlohmann::json& command, Clock::time_point now) {
    if (command.at("go").get<bool>()) started_ = now;
    for (const WorkItem item : command.at("items")) pending_.push_back(item);
  }
  // The first of those that have arrived and have not been asked for.
  [[nodiscard]] std::optional<Arrived> next(Clock::time_point now) {
    if (pending_.empty()) return {};
    const WorkItem item = pending_.front();
    const auto arrival = started_ + std::chrono::milliseconds(item.arrival_ms);
    if (arrival > now) return {};
    pending_.pop_front();
    // What is sent again to keep the engine busy has no time of its own.
    return Arrived{item, item.arrival_ms > 0 ? arrival : now};
  }

 private:
  std::deque<WorkItem> pending_;
  Clock::time_point started_;  // what arrival times count from
};

}  // namespace aqua::example
