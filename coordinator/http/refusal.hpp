// SPDX-License-Identifier: Apache-2.0
// A request that is turned away, and how that is told.
#pragma once

#include <string>

#include "aqua/result.hpp"

namespace aqua::coordinator {

struct Refusal {
  int status = 400;
  Error error;
  std::string headers{};  // further lines of the reply, each ended by CR LF
};

}  // namespace aqua::coordinator
