// SPDX-License-Identifier: Apache-2.0
// The ledger's enumerators from the names that ledger::to_string() gives them.
#pragma once

#include <optional>
#include <string_view>

#include "ledger/ledger.hpp"

namespace aqua::wire {

// nullopt when nothing has that name.
[[nodiscard]] std::optional<ledger::SlabState> parse_slab_state(std::string_view name);
[[nodiscard]] std::optional<ledger::ClientState> parse_client_state(std::string_view name);
[[nodiscard]] std::optional<ledger::EventKind> parse_event_kind(std::string_view name);

}  // namespace aqua::wire
