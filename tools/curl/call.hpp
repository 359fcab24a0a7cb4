// SPDX-License-Identifier: Apache-2.0
// One request over HTTP/1.1 or HTTPS, by libcurl. Knows nothing of who is asked.
//
// Threads: free functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::curl {

using Clock = std::chrono::steady_clock;

struct Request {
  std::string method = "GET";
  std::string url{};                   // its scheme is http or https
  std::vector<std::string> headers{};  // "Name: value"
  std::string body{};
  // For https, a PEM file of the authorities that may have signed the other's certificate; "":
  // those that this system trusts. `authority_from` names, in messages, what says so.
  std::string authority{};
  std::string_view authority_from{};
  Clock::time_point deadline = Clock::time_point::max();
  std::size_t most_reply_bytes = std::size_t{16} << 20;
};

struct Reply {
  int status = 0;
  std::string body{};
};

struct Outcome {
  std::optional<Reply> reply;  // when this is empty, the rest says why
  Error error;
  bool sent = false;  // the other may have acted on it
};

// Where the body of a reply with status 200 goes as it comes, and is not kept; false ends the call,
// with cancelled.
using OnData = std::function<bool(std::string_view)>;

// Blocks until the reply has ended. Errors: unavailable; deadline_exceeded; cancelled by `stop`;
// data_loss for a reply that is larger than it may be; failed_precondition where the certificate
// does not do.
[[nodiscard]] Outcome call(const Request& request, const std::stop_token& stop = {},
                           const OnData& on_data = {});

}  // namespace aqua::curl
