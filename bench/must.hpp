// SPDX-License-Identifier: Apache-2.0
// Benchmarks end at the first error.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "aqua/result.hpp"

namespace aqua::bench {

// The value; prints the error behind `what` and exits with 1 where there is none.
template <typename T>
T must(Result<T> result, const char* what = program_invocation_short_name) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace aqua::bench
