// SPDX-License-Identifier: Apache-2.0
// Text to JSON and back without exceptions. Inside this room only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::wire {

using Json = nlohmann::json;

// invalid_argument when the body is larger than `max_bytes`, deeper than kMaxDepth, not
// JSON in UTF-8, or not an object.
[[nodiscard]] Result<Json> parse_object(std::string_view body, std::size_t max_bytes);

// Always valid UTF-8: what was not becomes U+FFFD.
[[nodiscard]] std::string dump(const Json& value);

}  // namespace aqua::wire
