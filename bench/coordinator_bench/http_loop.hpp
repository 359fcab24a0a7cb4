// SPDX-License-Identifier: Apache-2.0
// HttpLoop is the load generator's end of many connections at once: one request each, on one
// thread, so that the generator takes little of the machine that it measures.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "wire/address.hpp"

namespace aqua::bench {

using Clock = std::chrono::steady_clock;

struct Reply {
  int status = 0;         // 0: closed without one
  std::string_view body;  // for the call
  Clock::time_point at;   // when its last byte had come
};

class HttpLoop {
 public:
  using Done = std::function<void(const Reply& reply)>;

  HttpLoop();

  // Connects and sends `text`, a whole request; turn() calls `done` when the server has
  // closed. Ends this process where that cannot even begin.
  void ask(const wire::SocketAddress& to, std::string_view text, Done done);
  // Waits for replies until `until`, at most; handles those that have come.
  void turn(Clock::time_point until);
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

 private:
  struct Slot {
    UniqueFd fd;
    std::string text;
    Done done;
  };
  void hear(std::uint32_t place);

  const UniqueFd epoll_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t in_flight_ = 0;
};

}  // namespace aqua::bench
