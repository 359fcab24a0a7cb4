// SPDX-License-Identifier: Apache-2.0
// Feeds the placer's pairs to a running coordinator.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/place/placed.hpp"

namespace aqua::tool {

// Makes each pair of which `coordinator` knows both clients, by their names. The text says how many
// were made and which were not found. already_exists when a name belongs to several clients: then
// nothing is posted.
[[nodiscard]] Result<std::string> post_pairs(std::string_view coordinator,
                                             std::span<const place::NamedPair> pairs);

}  // namespace aqua::tool
