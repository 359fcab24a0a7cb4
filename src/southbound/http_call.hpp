// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 request and its reply on a connection of their own, as the coordinator serves
// them: Content-Length both ways, closed afterwards. Small enough to link into an engine
// without a TLS library, and every wait has one deadline and can be interrupted.
//
// Threads: free functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "southbound/interrupt.hpp"
#include "wire/address.hpp"

namespace aqua::southbound {

using Clock = std::chrono::steady_clock;

// When a call ends at the latest. Once `hurry` is raised, where there is one: a second from then or
// from its beginning, if that is sooner.
struct Deadline {
  Deadline(Clock::time_point latest, const Interrupt* hurries = nullptr)
      : at(latest), hurry(hurries) {}
  Clock::time_point at;
  const Interrupt* hurry;
};

struct HttpRequest {
  std::string method;
  std::string target;
  std::optional<SessionSecret> secret;
  std::string body;
  std::string idempotency_key{};  // "" sends none
};

struct HttpReply {
  int status = 0;
  std::string body;
};

struct CallOutcome {
  std::optional<HttpReply> reply;  // when this is empty, the rest says why
  Error error;        // unavailable, deadline_exceeded, cancelled (interrupted) or internal
  bool sent = false;  // the coordinator may have acted on it
};

// The bearer token that requests over TCP carry: the first line of the file that
// AQUA_TOKEN_FILE names; "" where there is none. Read for each request, so that a new one is
// taken up.
[[nodiscard]] std::string bearer_token();

// `interrupt` may be nullptr.
[[nodiscard]] CallOutcome http_call(const wire::Address& to, const HttpRequest& request,
                                    const Deadline& deadline, const Interrupt* interrupt);

// Parses a whole reply. For http_call() and its tests; internal when it is not HTTP/1.1 with
// a status, or shorter than its Content-Length.
[[nodiscard]] Result<HttpReply> parse_reply(std::string_view text);

}  // namespace aqua::southbound
