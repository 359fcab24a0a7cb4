// SPDX-License-Identifier: Apache-2.0
// Feeds the placer's pairs to a running coordinator.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/place/placed.hpp"
#include "wire/servers.hpp"

namespace aqua::tool {

// Makes each pair of which `coordinator` knows both clients, by their names. The text says how many
// were made and which were not found. already_exists when a name belongs to several clients: then
// nothing is posted.
[[nodiscard]] Result<std::string> post_pairs(std::string_view coordinator,
                                             std::span<const place::NamedPair> pairs);

// Where the coordinators of all servers are asked that the one at `asked` knows of.
//   failed_precondition  it does not know them as they are, or one is asked nowhere but on its own
//                        server (it does not advertise an address)
[[nodiscard]] Result<std::vector<std::string>> coordinators_of(const wire::Servers& servers,
                                                               std::string_view asked);

}  // namespace aqua::tool
