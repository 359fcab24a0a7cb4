// SPDX-License-Identifier: Apache-2.0
// Failures that are not the subject of a test end its program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "aqua/result.hpp"

namespace aqua::test {

// The value; prints the error and aborts where there is none.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace aqua::test
