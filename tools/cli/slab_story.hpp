// SPDX-License-Identifier: Apache-2.0
// `aqua slab`: what happened to a slab, as the coordinator remembers it.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "ledger/ledger.hpp"
#include "wire/observation.hpp"
#include "wire/state.hpp"

namespace aqua::tool {

// "PRODUCER/INDEX", where PRODUCER is a client's id, the beginning of one, or its name, among
// those in `state`; a full id need not be there any more. invalid_argument says what is wrong,
// not_found that nobody is meant, failed_precondition that several are.
[[nodiscard]] Result<ledger::SlabId> find_slab(const wire::State& state, std::string_view text);

// A line an event, with the time of day where `now` is `wall` (seconds since 1970).
[[nodiscard]] std::string render(const wire::SlabStory& story, ledger::Time now, double wall);

}  // namespace aqua::tool
