// SPDX-License-Identifier: Apache-2.0
// Cells of the tables as docs/engine/migration.md writes them: "copying: copy", "–" where an event
// is not due, and "a / b" where there are two outcomes.
#pragma once

#include <string>

#include "systems/migration/decide/tables.hpp"

namespace aqua::migration::test {

template <typename State, typename Event>
std::string cell_text(State state, Event event) {
  const auto one = [&](bool otherwise) -> std::string {
    const auto done = step(state, event, otherwise);
    if (!done.due()) return "–";
    std::string text(to_string(done.next()));
    const char* separator = ": ";
    for (const auto command : done) {
      text.append(separator).append(to_string(command));
      separator = ", ";
    }
    return text;
  };
  const std::string first = one(false), second = one(true);
  return first == second ? first : first + " / " + second;
}

}  // namespace aqua::migration::test
