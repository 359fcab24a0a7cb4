// SPDX-License-Identifier: Apache-2.0
// Orders are what a process acts on, a line of JSON each: what the orchestrator tells it, and what
// it hears of its group, a line for each term that it has a rank in (Membership).
//
// The orchestrator's first words before all processes end are {"last": true}. From then on terms
// are not heard of: each member that ends begins one.
//
// Threads: one. Errors: Failure, for a line that is no JSON object.
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fd.hpp"
#include "json_lines.hpp"

namespace aqua::pipeline {

class Orders {
 public:
  // Both are the caller's, and outlive it. `terms`: -1 where there is no group.
  Orders(int orchestrator, int terms)
      : both_(::epoll_create1(EPOLL_CLOEXEC)), told_(orchestrator), terms_(terms) {
    for (const int fd : {orchestrator, terms}) {
      epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
      if (fd >= 0) (void)::epoll_ctl(both_.get(), EPOLL_CTL_ADD, fd, &wanted);
    }
    has_terms_ = terms >= 0;
  }
  [[nodiscard]] int fd() const { return both_.get(); }
  // Whether next() would not wait, by what was read before; fd() tells only what comes after that.
  [[nodiscard]] bool has_read() const { return !read_.empty() || told_.ended(); }

  // Whether one is here that ends what the process does. Waits for nothing.
  [[nodiscard]] bool rewire_comes() {
    read();
    return std::ranges::any_of(read_, is_term);
  }

  // Whether next() would not wait; waits so long for that.
  [[nodiscard]] bool comes(std::chrono::milliseconds patience) {
    if (!has_read()) {
      pollfd waiting{both_.get(), POLLIN, 0};
      (void)::poll(&waiting, 1, static_cast<int>(patience.count()));
      read();
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

  // The next one of this term, or the beginning of another one. What the orchestrator has said in
  // an older term, before it heard that it was over, is for nobody.
  [[nodiscard]] std::optional<nlohmann::json> next_of(std::uint64_t term) {
    for (;;) {
      auto order = next();
      if (!order || order->contains("listen")) return order;
      const auto of = order->find("term");
      if (of != order->end() && *of == term) return order;
    }
  }

 private:
  static bool is_term(const std::string& line) {
    return line.find("\"listen\"") != std::string::npos;
  }

  // Terms are read first, and then what the orchestrator has said. It says "last" to all processes
  // before the first one ends: where a line of a term is here that such an end has begun, "last" is
  // here as well, and the line is dropped.
  void read() {
    constexpr std::chrono::milliseconds kNone{0};
    if (has_terms_) take(terms_.read(kNone));
    take(told_.read(kNone));
    if (last_) std::erase_if(read_, is_term);
  }
  void take(std::vector<std::string> lines) {
    for (std::string& line : lines) {
      if (line.find("\"last\"") != std::string::npos) {
        last_ = true;
      } else {
        read_.push_back(std::move(line));
      }
    }
  }

  const example::Fd both_;
  example::LineReader told_, terms_;
  bool has_terms_ = false;
  bool last_ = false;
  std::deque<std::string> read_{};
};

}  // namespace aqua::pipeline
