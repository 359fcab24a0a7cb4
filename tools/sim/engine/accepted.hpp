// SPDX-License-Identifier: Apache-2.0
// What must succeed, as a simulation asks for nothing that could be refused.
#pragma once

#include <cassert>
#include <type_traits>
#include <utility>

#include "aqua/result.hpp"

namespace aqua::sim {

template <typename T>
T accepted(Result<T> result) {
  assert(result.ok());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace aqua::sim
