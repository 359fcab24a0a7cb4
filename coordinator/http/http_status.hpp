// SPDX-License-Identifier: Apache-2.0
// The one place where an error's code becomes an HTTP status.
#pragma once

#include "aqua/result.hpp"

namespace aqua::coordinator {

[[nodiscard]] constexpr int status_of(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return 400;
    case Code::not_found:
      return 404;
    case Code::already_exists:
      return 409;
    case Code::failed_precondition:
      return 409;
    case Code::permission_denied:
      return 403;
    case Code::resource_exhausted:
      return 429;
    case Code::unavailable:
      return 503;
    case Code::aborted:
      return 409;
    case Code::deadline_exceeded:
      return 504;
    case Code::cancelled:
      return 499;
    case Code::data_loss:
      return 500;
    case Code::unimplemented:
      return 501;
    case Code::internal:
      return 500;
  }
  return 500;
}

// Nobody has proven who is calling; the code is permission_denied.
inline constexpr int kUnauthenticated = 401;

}  // namespace aqua::coordinator
