// SPDX-License-Identifier: Apache-2.0
// Routes say what one rank of a pipeline streams to each rank of another one, or gets from it.
//
// Threads: functions of their arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/shards.hpp"

namespace aqua::kv_stream {

struct Route {
  std::uint32_t peer = 0;  // the rank at the other end
  // In one order at both ends. `source` is the sending rank.
  std::vector<ShardPiece> pieces{};
  friend bool operator==(const Route&, const Route&) = default;
};

// From one rank, by the ranks that get something, in order. Errors as map_shards();
// invalid_argument: no such rank.
[[nodiscard]] Result<std::vector<Route>> routes_from(const KvShards& from, std::uint32_t rank,
                                                     const KvShards& to);
// To one rank, by the ranks that send something, in order. Errors as routes_from().
[[nodiscard]] Result<std::vector<Route>> routes_to(const KvShards& from, const KvShards& to,
                                                   std::uint32_t rank);

// A digest of what both ends have to agree on: two shapes of one model, and how each is dealt. That
// of other ones differs, but for chance.
[[nodiscard]] std::uint64_t agreement_of(const KvShards& from, const KvShards& to);

}  // namespace aqua::kv_stream
