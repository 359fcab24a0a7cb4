// SPDX-License-Identifier: Apache-2.0
// Errors as they cross a socket: {"code": "aborted", "message": "...", "epoch": "..."}.
#pragma once

#include <optional>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

struct ErrorReply {
  Epoch epoch;  // nil on the lifeline
  Error error;
};

// nullopt when no code has that name.
[[nodiscard]] std::optional<Code> parse_code(std::string_view name);

}  // namespace aqua::wire
