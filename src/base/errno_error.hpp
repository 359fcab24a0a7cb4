// SPDX-License-Identifier: Apache-2.0
// The Error for a failed system call, read from errno, or for a thread that cannot be started.
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
    case EFBIG:
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

// What make() answers, or resource_exhausted where it could not start a thread.
template <typename Make>
[[nodiscard]] auto with_threads(std::string_view what, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::system_error& error) {
    return Error{Code::resource_exhausted,
                 concat(what, ": no thread more can be started: ", error.what())};
  }
}

}  // namespace aqua
