// SPDX-License-Identifier: Apache-2.0
// HttpClient: one connection to an engine over TCP. Knows nothing of what is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::http {

struct HttpOptions {
  std::string url{};      // "http://HOST[:PORT][/PREFIX]"
  std::string api_key{};  // sent as a bearer token; empty: none
  // In which nothing is heard; 0: as long as it takes. For connecting a tenth of it (of 0: 6 s),
  // and 2 s at least.
  std::chrono::seconds timeout{60};
  // The most time of a call, from its beginning to its last byte, however much is heard; 0: as long
  // as it takes.
  std::chrono::milliseconds whole{0};
  std::stop_token stop{};  // ends what is under way, and all that would follow
};

struct EngineUrl {
  std::string host{};
  int port = 80;
  std::string prefix{};  // without a slash at its end
};

// invalid_argument says what was expected; https is refused with what to do instead.
[[nodiscard]] Result<EngineUrl> parse_url(std::string_view text);

// The answer to a POST or GET, whatever its status.
struct Reply {
  int status = 0;
  std::string body{};  // of a POST: only where the status is not 200, its beginning
};

// What a piece of an answer means for the call.
enum class Heard : std::uint8_t {
  nothing,    // a keep-alive: the time limit runs on
  something,  // content: the time limit begins anew
  enough,     // no more is wanted: the call ends
};

// One connection, kept between calls. Threads: one at a time, but stop(); each call that has a
// limit of the whole has one of its own.
//
// Every call fails with cancelled once stopped, unavailable when the engine cannot be reached or
// broke off, deadline_exceeded when it took no connection in its time, said nothing for the time
// limit, or the call took longer than a whole one may, data_loss when an answer that is kept has
// more than 16 MiB, resource_exhausted when this process has no descriptor left, or no thread to
// watch over a limit of the whole.
class HttpClient {
 public:
  using OnData = std::function<Heard(std::string_view, std::chrono::steady_clock::time_point)>;

  HttpClient(const EngineUrl& url, const HttpOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Blocks until the answer has ended.
  [[nodiscard]] Result<Reply> get(const std::string& path);
  [[nodiscard]] Result<Reply> erase(const std::string& path);  // DELETE
  // Passes the body of a status 200 to `data` as it comes. When `data` returns `enough`, the call
  // ends with cancelled, as after stop().
  [[nodiscard]] Result<Reply> post(const std::string& path, const std::string& body,
                                   const OnData& data);
  // Ends the call under way and all that follow. Any thread may call it; it may block while the
  // client connects.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::http
