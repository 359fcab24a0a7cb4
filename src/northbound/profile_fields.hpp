// SPDX-License-Identifier: Apache-2.0
// Reads and writes the profile's own fields in its JSON, one place for each.
#pragma once

#include <nlohmann/json.hpp>

#include "aqua/northbound/profile.hpp"
#include "base/json_object.hpp"

namespace aqua::profile {

inline constexpr int kVersion = 1;
// 2^53: the largest number up to which every JSON reader is exact.
inline constexpr double kMostBytes = 9'007'199'254'740'992.0;

// Parses the file's text. invalid_argument when it is no JSON, is nested deeper than 16, or is no
// object.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);
// Reads all fields but "evidence". The caller calls finish().
[[nodiscard]] Profile read_fields(JsonObject& object);
void write_fields(nlohmann::ordered_json& object, const Profile& profile);

}  // namespace aqua::profile
