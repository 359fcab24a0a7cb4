// SPDX-License-Identifier: Apache-2.0
// Reply is what a request is answered with, and how it is written in HTTP/1.1.
//
// Threads: plain data and free functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "coordinator/http/refusal.hpp"
#include "coordinator/http/stream.hpp"

namespace aqua::coordinator {

inline constexpr const char* kJsonType = "application/json";

struct Reply {
  std::string type = kJsonType;  // of the body
  std::string body{};
  int status = 200;
  std::string_view reason = "OK";  // a constant
  std::string headers{};           // further lines, each ended by CR LF; nothing of a request's
  std::string_view cache = "no-store";          // Cache-Control; a constant
  std::shared_ptr<const std::string> shared{};  // in place of `body`, where many replies have one

  [[nodiscard]] const std::string& content() const { return shared ? *shared : body; }
};

// The reply to a refused request: problem details (RFC 9457).
[[nodiscard]] Reply problem(const Epoch& epoch, const Refusal& refusal);

// Writes the whole reply, which says that no other site's page may embed it and that its type is
// not to be guessed. A reply to HEAD has the length of its body but not the body.
void write_reply(Stream& stream, const Reply& reply, bool with_body);

}  // namespace aqua::coordinator
