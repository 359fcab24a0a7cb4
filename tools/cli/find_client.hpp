// SPDX-License-Identifier: Apache-2.0
// Which client of a coordinator somebody means.
#pragma once

#include <string_view>

#include "wire/state.hpp"

namespace aqua::tool {

// `text` is an id, the beginning of one (four characters or more), or a name. A whole id need not
// be known. not_found, or failed_precondition where several are meant; both begin with `command`.
[[nodiscard]] Result<ClientId> find_client(const wire::State& state, std::string_view command,
                                           std::string_view text);

}  // namespace aqua::tool
