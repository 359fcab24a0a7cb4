// SPDX-License-Identifier: Apache-2.0
// Pairs by the names that a coordinator's clients have, and a placement's file read back.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/place/solve.hpp"

namespace aqua::place {

// As "pairs" of the output has them: a model's id, or "id/shard" where it has several.
struct NamedPair {
  std::string producer{};
  std::string consumer{};
  friend bool operator==(const NamedPair&, const NamedPair&) = default;
};

[[nodiscard]] std::vector<NamedPair> named_pairs(const Cluster& cluster,
                                                 const Placement& placement);

// Parses what render_json() has written; fields beside "version" and "pairs" are not looked at.
// invalid_argument names what is missing, or a name that is in two pairs.
[[nodiscard]] Result<std::vector<NamedPair>> parse_pairs(std::string_view text);

}  // namespace aqua::place
