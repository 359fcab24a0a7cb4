// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/find_client.hpp"

#include <optional>

#include "base/concat.hpp"

namespace aqua::tool {

Result<ClientId> find_client(const wire::State& state, std::string_view command,
                             std::string_view text) {
  if (auto id = parse_id<ClientTag>(text); id.ok()) return *id;
  std::optional<ClientId> found;
  for (const ledger::Client& client : state.clients) {
    const bool meant = client.info.name == text ||
                       (text.size() >= 4 && to_string(client.info.id).starts_with(text));
    if (!meant) continue;
    if (found) {
      return Error{Code::failed_precondition,
                   concat(command, ": several clients are '", text, "'; give more of the id")};
    }
    found = client.info.id;
  }
  if (!found) {
    return Error{Code::not_found, concat(command, ": no client '", text,
                                         "'; of one that is gone give the whole id")};
  }
  return *found;
}

}  // namespace aqua::tool
