// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/all_done.hpp"

#include <optional>
#include <utility>

namespace aqua::kv_stream {

Result<bool> all_done(const std::vector<Ticket>& tickets) {
  bool over = true;
  std::optional<Error> first;
  for (const Ticket& ticket : tickets) {
    auto there = ticket.done();
    if (there.ok()) over = over && *there;
    if (!there.ok() && !first) first = std::move(there).error();
  }
  if (over && first) return *std::move(first);
  return over;
}

}  // namespace aqua::kv_stream
