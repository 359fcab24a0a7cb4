// SPDX-License-Identifier: Apache-2.0
// How the moves of a plan are made: as KV over the links, as tokens that the other engine computes
// again, or later. Decided once for all moves, so that no link and no engine is asked for more
// than it can do beside its work (Mell, section V).
//
// Threads: plain functions; deterministic.
// Units: bytes and tokens that an epoch may take.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/packing/plan.hpp"
#include "aqua/result.hpp"

namespace aqua::packing {

struct EngineBoundary {
  ServerId server{};
  std::uint64_t bytes_in = 0, bytes_out = 0;  // over its own link, to wherever
  // Tokens it may compute for requests that come, without delaying those that it decodes.
  std::uint64_t prefill_tokens = 0;
};

struct ServerBoundary {
  std::uint64_t bytes_in = 0, bytes_out = 0;  // to and from other servers, all its engines together
};

struct Boundaries {
  std::map<EngineId, EngineBoundary> engines{};
  std::map<ServerId, ServerBoundary> servers{};
};

enum class SendAs : std::uint8_t { kv, tokens, later };

[[nodiscard]] constexpr std::string_view to_string(SendAs as) noexcept {
  constexpr std::string_view kNames[] = {"kv", "tokens", "later"};
  return kNames[static_cast<std::uint8_t>(as)];
}

enum class Allowed : std::uint8_t { both, kv_only, tokens_only };

// Answers for each move, by its place, how it is made. A move whose KV was dropped goes as tokens.
// A move of a later stage waits as well if one that was to make room for it does. The caller says
// failed() of those that go later, or does them in a later epoch.
//
// Greedy: stage by stage, the largest first, each in the way that leaves the larger share of the
// scarcest boundary it uses. No boundary is exceeded.
// invalid_argument names an engine or a server that has no boundary.
[[nodiscard]] AQUA_API Result<std::vector<SendAs>> divide(std::span<const Move> moves,
                                                          const Boundaries& boundaries,
                                                          Allowed allowed = Allowed::both);

}  // namespace aqua::packing
