// Feeds the placer's pairs to a running coordinator.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "place/solve.hpp"

namespace aqua::tool {

// Makes each pair of which `coordinator` knows both clients, by their names: a model's id, or
// "id/shard" where it has several. The text says how many were made and which were not found.
// already_exists when a name belongs to several clients: then nothing is posted.
[[nodiscard]] Result<std::string> post_pairs(std::string_view coordinator,
                                             const place::Cluster& cluster,
                                             const place::Placement& placement);

}  // namespace aqua::tool
