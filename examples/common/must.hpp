// SPDX-License-Identifier: Apache-2.0
// must(): a demonstration gives up at the first error. Each role's main() catches Failure,
// prints it and exits with status 1; a real engine would look at Error::code instead.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "aqua/result.hpp"

namespace aqua::example {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] inline Failure failure(const std::string& doing, const Error& error) {
  return Failure(doing + ": " + error.message + " (" + std::string(to_string(error.code)) + ")");
}

template <typename T>
T must(Result<T> result, const std::string& doing) {
  if (!result.ok()) throw failure(doing, result.error());
  return std::move(result).value();
}
inline void must(const Result<void>& result, const std::string& doing) {
  if (!result.ok()) throw failure(doing, result.error());
}

}  // namespace aqua::example
