// SPDX-License-Identifier: Apache-2.0
// A request that is turned away, and how that is told.
#pragma once

#include <string>
#include <utility>

#include "aqua/result.hpp"

namespace aqua::coordinator {

struct Refusal {
  int status = 400;
  Error error;
  std::string headers{};  // further lines of the reply, each ended by CR LF
};

// A request that is wrong as it stands, in any of its parts.
[[nodiscard]] inline Refusal refuse(int status, std::string message) {
  return {status, Error{Code::invalid_argument, std::move(message)}};
}

}  // namespace aqua::coordinator
