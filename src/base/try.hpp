// SPDX-License-Identifier: Apache-2.0
// AQUA_TRY(expr): return the error of a Result<...> from the enclosing function, or go on.
// AQUA_ASSIGN(decl, expr): the same, and bind the value.
#pragma once

#include <utility>

#include "aqua/result.hpp"

#define AQUA_TRY(expr)                                          \
  do {                                                          \
    if (auto aqua_try_result = (expr); !aqua_try_result.ok()) { \
      return std::move(aqua_try_result).error();                \
    }                                                           \
  } while (false)

#define AQUA_CONCAT_INNER(a, b) a##b
#define AQUA_CONCAT(a, b) AQUA_CONCAT_INNER(a, b)
#define AQUA_ASSIGN_INNER(decl, expr, name)       \
  auto name = (expr);                             \
  if (!name.ok()) return std::move(name).error(); \
  decl = std::move(name).value()
#define AQUA_ASSIGN(decl, expr) AQUA_ASSIGN_INNER(decl, expr, AQUA_CONCAT(aqua_assign_, __LINE__))
