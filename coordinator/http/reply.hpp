// SPDX-License-Identifier: Apache-2.0
// How an outcome becomes a reply: JSON, or problem details.
#pragma once

#include <httplib.h>

#include <string>

#include "base/ids.hpp"
#include "coordinator/http/refusal.hpp"

namespace aqua::coordinator {

inline constexpr const char* kJsonType = "application/json";

void write_problem(httplib::Response& response, const Epoch& epoch, const Error& error, int status);

// The same as a whole reply of its own, for requests that no handler saw.
[[nodiscard]] std::string problem_text(const Epoch& epoch, const Refusal& refusal);

}  // namespace aqua::coordinator
