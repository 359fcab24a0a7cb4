// SPDX-License-Identifier: Apache-2.0
// What a packer answers: where a request goes, which requests move and why, and which engines are
// woken and freed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aqua/packing/fleet.hpp"

namespace aqua::packing {

enum class Reason : std::uint8_t {
  best_fit,      // of the engines with room for it, the one with the least
  worst_fit,     // of the engines with room for it, the one with the most
  prefix,        // the prefix that it shares is there
  beside_large,  // beside a request larger than half an engine, in what that leaves
  fills_gap,     // an engine is less than three quarters full
  wakes,         // no active engine has room: one that sleeps is woken
  waits,         // no engine has room
  overload,      // its engine is full, because of growth or of a smaller pool
  drains,        // its engine is to leave
  balances,      // its engine has more load than another
  empties,       // all of its engine's requests fit elsewhere, so that the engine is freed
  completes,     // two medium or three small requests are to fill an engine
  makes_room,    // a larger request needs the place
};
inline constexpr std::size_t kReasons = 13;

[[nodiscard]] constexpr std::string_view to_string(Reason reason) noexcept {
  constexpr std::string_view kNames[kReasons] = {
      "best_fit", "worst_fit", "prefix",   "beside_large", "fills_gap", "wakes",     "waits",
      "overload", "drains",    "balances", "empties",      "completes", "makes_room"};
  return kNames[static_cast<std::uint8_t>(reason)];
}

struct Placement {
  RequestId request{};
  EngineId engine = no_engine;  // no_engine: it waits, and a later plan places it
  Reason reason = Reason::waits;
  // This placement wakes the engine. One that an earlier order woke may still not be up: the caller
  // keeps the list of those, and sends nothing to an engine before it is up.
  bool wakes = false;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Send the request's KV from one engine to the other, or its tokens, to be computed there; then say
// moved(), or failed().
struct Move {
  RequestId request{};
  EngineId from{}, to{};
  Reason reason = Reason::overload;
  // What is to be copied or computed: its KV, in whole blocks, without its prefix where a request
  // that stays on `to` shares that. Of several that bring one prefix each counts it.
  std::uint64_t tokens = 0;
  std::uint64_t bytes = 0;
  // Moves of stage 0 may all begin at once, and those of a later stage when all of the earlier ones
  // are over: then there is room, with both engines of each move holding it while it lasts.
  std::uint32_t stage = 0;
  // It breaks a cycle of moves that wait for each other's room: drop its KV before stage 0, and
  // compute it again on `to` in its stage. Until then it makes no progress.
  bool dropped = false;
  friend bool operator==(const Move&, const Move&) = default;
};

// Drop its KV, which is not counted any more: it waits, and is placed again.
struct Preemption {
  RequestId request{};
  EngineId engine{};
  std::uint64_t tokens = 0;  // of its KV, without its prefix
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

// How many engines the plan needs once its moves are over, held against how few could do.
struct Certificate {
  std::uint64_t engines = 0;  // that hold requests
  // No packing of these requests into engines of the largest usable capacity has fewer: Martello
  // and Toth's L2, at thresholds of 64ths of that capacity only, so that it may be below L2.
  std::uint64_t bound = 0;
  // engines <= 4/3 * bound + 3.
  bool within = true;
  // mell and pack: the properties that prove engines <= 4/3 of the best packing + 2 hold. Never
  // true where they prove nothing: while engines differ in capacity or drain, requests share
  // prefixes, or moves from before are under way. May be false in a plan that preempts or places.
  bool properties = false;
  friend bool operator==(const Certificate&, const Certificate&) = default;
};

// Orders hold from the moment epoch() returned them and appear once. In this order: preemptions,
// engines to wake, moves by stage, placements.
struct Plan {
  std::uint64_t number = 0;  // of the epoch, from 1
  std::vector<Preemption> preemptions{};
  std::vector<EngineId> wake{};         // those that placements wake among them
  std::vector<Move> moves{};            // by stage
  std::vector<Placement> placements{};  // of requests that waited
  // Nothing is on them and nothing is on its way: they are asleep from now on.
  std::vector<EngineId> freed{};
  std::vector<EngineId> drained{};  // those of drain() that are empty: they may leave. Every time
  // Those that wait and are larger than what may be filled of any engine, its watermark left free:
  // none takes them, even alone. Named every time.
  std::vector<RequestId> too_large{};
  std::uint64_t move_limit = 0;  // of this epoch, in requests
  Certificate certificate{};
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace aqua::packing
