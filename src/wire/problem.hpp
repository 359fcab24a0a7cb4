// SPDX-License-Identifier: Apache-2.0
// Errors of the HTTP API as RFC 9457 problem details (application/problem+json):
//   {"type": "urn:aqua:problem:aborted", "title": "Overtaken", "status": 409,
//    "detail": "...", "code": "aborted", "next": "start the whole step again", "epoch": "..."}
// `type`, `title` and `next` follow from the code; `detail` is for a person.
#pragma once

#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

inline constexpr const char* kProblemType = "application/problem+json";

struct Problem {
  Epoch epoch;
  std::uint16_t status = 500;  // the HTTP status it came with
  Error error;
};

// A few words for the kind of problem, and what the caller does about it.
[[nodiscard]] std::string_view title_of(Code code) noexcept;
[[nodiscard]] std::string_view next_step(Code code) noexcept;

}  // namespace aqua::wire
