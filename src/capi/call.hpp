// SPDX-License-Identifier: Apache-2.0
// The edge itself: a body that returns Result<void> becomes a call that returns an error object
// and lets no exception out.
//
//   return call([&]() -> Result<void> { AQUA_ASSIGN(...); ...; return {}; });
#pragma once

#include <string>

#include "aqua/c/error.h"
#include "aqua/result.hpp"
#include "base/concat.hpp"  // what every body uses
#include "base/try.hpp"

namespace aqua::capi {

// The caller frees it. Never NULL: without memory, one that is always there.
[[nodiscard]] aqua_error* make_error(Error error) noexcept;
// Makes an error of the exception being handled.
[[nodiscard]] aqua_error* error_of_exception() noexcept;

[[nodiscard]] Error null_argument(const char* what, const char* argument);
[[nodiscard]] inline std::string string_or_empty(const char* text) {
  return text != nullptr ? std::string(text) : std::string();
}

template <typename Body>
[[nodiscard]] aqua_error* call(Body&& body) noexcept {
  try {
    Result<void> outcome = body();
    if (outcome.ok()) [[likely]]
      return nullptr;
    return make_error(std::move(outcome).error());
  } catch (...) {
    return error_of_exception();
  }
}

}  // namespace aqua::capi

// Inside a call's body: `what` names the call.
#define AQUA_CAPI_NOT_NULL(what, argument) \
  if ((argument) == nullptr) return ::aqua::capi::null_argument((what), #argument)
