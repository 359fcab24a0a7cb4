// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "aqua/migration/move.hpp"

namespace aqua::migration {

std::string_view to_string(Stays reason) noexcept {
  constexpr std::string_view kNames[] = {
      "moves",    "prefill", "several_answers",  "guided",      "refused",
      "outgrown", "lost",    "destination_died", "router_died", "timed_out"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view why(Stays reason) noexcept {
  switch (reason) {
    case Stays::moves:
      return "nothing is in the way of its move";
    case Stays::prefill:
      return "its answer has not begun, or is being computed again: there is little to move";
    case Stays::several_answers:
      return "it has several answers, which share the blocks of their prompt";
    case Stays::guided:
      return "its answer is guided, and the engine cannot export the state of the guide";
    case Stays::refused:
      return "the destination has no room";
    case Stays::outgrown:
      return "it came to need more room than was reserved for it";
    case Stays::lost:
      return "it was sent out to the swap space, or its KV was lost, while it was copied";
    case Stays::destination_died:
      return "the destination died, or gave the move up";
    case Stays::router_died:
      return "the router died";
    case Stays::timed_out:
      return "the move took too long";
  }
  return "";
}

Stays may_move(const Candidate& candidate, Kind kind) noexcept {
  if (candidate.answers > 1) return Stays::several_answers;
  if (candidate.guided && !candidate.guide_exported) return Stays::guided;
  if (candidate.generated_tokens == 0) return Stays::prefill;
  const std::uint64_t known = std::uint64_t{candidate.prompt_tokens} + candidate.generated_tokens;
  if (kind == Kind::kv && std::uint64_t{candidate.computed_tokens} + 1 < known) {
    return Stays::prefill;
  }
  return Stays::moves;
}

}  // namespace aqua::migration
