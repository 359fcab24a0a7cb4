// SPDX-License-Identifier: Apache-2.0
// Reply is what a request is answered with, and how it is written in HTTP/1.1.
//
// Threads: plain data and free functions.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "coordinator/http/refusal.hpp"

namespace aqua::coordinator {

inline constexpr const char* kJsonType = "application/json";

struct Reply {
  std::string type = kJsonType;  // of the body
  std::string body{};
  int status = 200;
  std::string_view reason = "OK";  // a constant
  std::string headers{};           // further lines, each ended by CR LF; nothing of a request's
};

// The reply to a refused request: problem details (RFC 9457).
[[nodiscard]] Reply problem(const Epoch& epoch, const Refusal& refusal);

// The bytes of the whole reply. A reply to HEAD has the length of its body but not the body.
[[nodiscard]] std::string to_text(const Reply& reply, bool with_body);

}  // namespace aqua::coordinator
