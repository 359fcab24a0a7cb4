// SPDX-License-Identifier: Apache-2.0
// Shards onto the servers of one unit: bin packing with groups that must be apart.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace aqua::place {

struct PackItem {
  int shards = 0;
  int group = -1;  // no two of a group in one bin; -1: none
};
struct PackBin {
  int free = 0;
  std::vector<int> groups{};  // already there
};

// For each item its bin; nullopt when there is no way. Exact up to `max_steps` of backtracking,
// beyond which it gives up: nullopt, and *gave_up, if given, set.
[[nodiscard]] std::optional<std::vector<int>> pack(std::span<const PackItem> items,
                                                   std::vector<PackBin> bins,
                                                   bool* gave_up = nullptr,
                                                   long max_steps = 20'000);

}  // namespace aqua::place
