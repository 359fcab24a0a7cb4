// SPDX-License-Identifier: Apache-2.0
#include "tools/access/role.hpp"

namespace aqua::access {

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::none:
      return "none";
    case Role::read_only:
      return "read-only";
    case Role::engine:
      return "engine";
    case Role::operator_:
      return "operator";
  }
  return "none";
}

std::optional<Role> parse_role(std::string_view name) {
  for (const Role role : {Role::read_only, Role::engine, Role::operator_}) {
    if (to_string(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace aqua::access
