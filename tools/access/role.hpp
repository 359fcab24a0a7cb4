// SPDX-License-Identifier: Apache-2.0
// Roles: what somebody may do.
//
// Threads: free functions and plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aqua::access {

// What somebody may do; each may also do what the ones before it may.
enum class Role : std::uint8_t { none, read_only, engine, operator_ };
[[nodiscard]] std::string_view to_string(Role role) noexcept;  // "read-only", "engine", "operator"
[[nodiscard]] std::optional<Role> parse_role(std::string_view name);

}  // namespace aqua::access
