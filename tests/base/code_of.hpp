// SPDX-License-Identifier: Apache-2.0
// How a call ended, as a test compares it.
#pragma once

#include <string>

#include "aqua/result.hpp"

namespace aqua {  // where a result is, so that every test finds it

// "ok", or the error's code.
template <typename T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : std::string(to_string(result.error().code));
}

}  // namespace aqua
