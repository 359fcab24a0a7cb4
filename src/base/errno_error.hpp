// SPDX-License-Identifier: Apache-2.0
// The Error for a failed system call, read from errno.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua {

// Call it at once: `what` must not be evaluated by anything that changes errno.
[[nodiscard]] inline Error errno_error(std::string_view what) {
  const int number = errno;
  Code code = Code::internal;
  switch (number) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case ENOBUFS:
      code = Code::resource_exhausted;
      break;
    case EACCES:
    case EPERM:
      code = Code::permission_denied;
      break;
    case ENOENT:
      code = Code::not_found;
      break;
    case EEXIST:
      code = Code::already_exists;
      break;
    case EPIPE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EAGAIN:
      code = Code::unavailable;
      break;
    case EINVAL:
    case EBADF:  // a caller's: descriptors of ours stay open while they are used
      code = Code::invalid_argument;
      break;
    default:
      break;
  }
  return Error{
      code, concat(what, ": ", std::generic_category().message(number), " (errno ", number, ")")};
}

}  // namespace aqua
