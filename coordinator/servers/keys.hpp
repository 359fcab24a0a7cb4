// SPDX-License-Identifier: Apache-2.0
// Where in etcd what stands.
#pragma once

#include <string>
#include <string_view>

#include "base/concat.hpp"

namespace aqua::coordinator {

inline constexpr std::string_view kAllKeys = "/aqua/";
inline constexpr std::string_view kServerKeys = "/aqua/servers/";
inline constexpr std::string_view kGroupKeys = "/aqua/groups/";
// How often groups have been changed, and by what: SharedGroups.
inline constexpr std::string_view kGroupChanges = "/aqua/groups-changed";
inline constexpr std::string_view kGroupsAndChanges = "/aqua/groups";

[[nodiscard]] inline std::string server_key(std::string_view name) {
  return concat(kServerKeys, name);
}
[[nodiscard]] inline std::string group_key(std::string_view name) {
  return concat(kGroupKeys, name);
}

}  // namespace aqua::coordinator
