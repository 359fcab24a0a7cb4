// SPDX-License-Identifier: Apache-2.0
// The profile's own fields in its JSON: read and written in one place each.
#pragma once

#include <nlohmann/json.hpp>

#include "aqua/northbound/profile.hpp"
#include "base/json_object.hpp"

namespace aqua::profile {

inline constexpr int kVersion = 1;
// JSON's numbers are exact up to here in every reader.
inline constexpr double kMostBytes = 9'007'199'254'740'992.0;

// invalid_argument when it is no JSON, nested deeper than 16, or no object.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);
// Takes all but "evidence"; the caller does finish().
[[nodiscard]] Profile read_fields(JsonObject& object);
void write_fields(nlohmann::ordered_json& object, const Profile& profile);

}  // namespace aqua::profile
