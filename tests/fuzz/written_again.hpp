// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet are refused with a message or read, and what is read is written, read and
// written again as the same text. encode() is found beside the types that it writes.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::fuzz {

// `decode` answers nothing for a packet of another kind.
template <typename Decode>
void check_request(std::string_view packet, const Decode& decode) {
  const auto request = decode(packet);
  if (request.ok() && request->has_value()) {
    const std::string text = encode(**request);
    const auto again = decode(text);
    if (!again.ok() || !again->has_value() || (*again)->index() != (*request)->index() ||
        encode(**again) != text) {
      std::abort();
    }
  } else if (!request.ok() && request.error().code != Code::invalid_argument) {
    std::abort();
  }
}

// A refusal, and what is no answer, are errors: they are answers too when they are encoded.
template <typename Decode>
void check_reply(std::string_view packet, const Decode& decode) {
  const auto reply = decode(packet);
  const std::string text = encode(reply);
  const auto again = decode(text);
  if (again.ok() != reply.ok() || encode(again) != text) std::abort();
  if (!reply.ok() && again.error().code != reply.error().code) std::abort();
}

}  // namespace aqua::fuzz
