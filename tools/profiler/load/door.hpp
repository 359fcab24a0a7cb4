// SPDX-License-Identifier: Apache-2.0
// Door: an engine's HTTP, over TCP. Nothing here knows what is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::profiler {

struct DoorOptions {
  std::string url{};                 // "http://HOST[:PORT][/PREFIX]"
  std::string api_key{};             // sent as a bearer token; empty: none
  std::chrono::seconds timeout{60};  // in which nothing is heard; for connecting, a tenth of it
  std::stop_token stop{};            // ends what is under way, and all that would follow
};

struct Place {
  std::string host{};
  int port = 80;
  std::string prefix{};  // without a slash at its end
};

// invalid_argument says what was expected; https is refused with what to do instead.
[[nodiscard]] Result<Place> parse_url(std::string_view url);

// What came back on a POST or GET, whatever its status.
struct Reply {
  int status = 0;
  std::string body{};  // of a status that is not 200: its beginning
};

// What bytes of an answer had in them.
enum class Heard : std::uint8_t {
  nothing,    // a keep-alive: the time limit runs on
  something,  // it begins anew
  enough,     // no more is wanted
};

// One connection, kept between calls. Threads: one at a time, but stop().
//
// Every call fails with cancelled once stopped, unavailable when the engine cannot be reached or
// broke off, deadline_exceeded when it said nothing for the time limit, data_loss when an answer
// that is kept has more than 16 MiB, resource_exhausted when this process has no descriptor left.
class Caller {
 public:
  using OnData = std::function<Heard(std::string_view, std::chrono::steady_clock::time_point)>;

  Caller(const Place& place, const DoorOptions& options);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Blocks until the answer has ended.
  [[nodiscard]] Result<Reply> get(const std::string& path);
  // Gives the body's bytes of a status 200 to `data` as they come; `enough` from it ends the call
  // with cancelled, as stop() does.
  [[nodiscard]] Result<Reply> post(const std::string& path, const std::string& body,
                                   const OnData& data);
  // From any thread: ends the call under way, and all that follow. May block while it connects.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::profiler
