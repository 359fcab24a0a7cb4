// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/move_end.hpp"

#include <numeric>

namespace aqua::router {

std::optional<MoveEnd> failure_named(std::string_view name) noexcept {
  for (const MoveEnd end : kMoveFailures) {
    if (name == name_of(end)) return end;
  }
  return std::nullopt;
}

std::uint64_t MoveCounts::failed(migration::Kind kind) const noexcept {
  const auto& ends = counts[static_cast<std::size_t>(kind)];
  return std::accumulate(ends.begin() + static_cast<std::size_t>(MoveEnd::not_yet), ends.end(),
                         std::uint64_t{0});
}

MoveBy next_by(MoveBy by, migration::Kind kind, MoveEnd end) noexcept {
  if (end == MoveEnd::done) return MoveBy::kv;
  if (!is_failure(end) || kind == migration::Kind::tokens || by == MoveBy::tokens) return by;
  if (end >= MoveEnd::no_pool) return MoveBy::tokens;
  return static_cast<MoveBy>(static_cast<std::uint8_t>(by) + 1);
}

}  // namespace aqua::router
