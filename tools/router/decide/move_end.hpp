// SPDX-License-Identifier: Apache-2.0
// How moves end, as the router counts them, and by what a request is moved the next time.
//
// Threads: plain data and functions. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "aqua/migration/move.hpp"

namespace aqua::router {

// In this order: what is no failure; failures that pass; failures that last for as long as the
// engines are what they are. docs/operate/router.md#how-moves-end has a line for each.
enum class MoveEnd : std::uint8_t {
  done,
  ended,     // the answer ended, or its client went, before another engine could speak
  not_yet,   // the source could not hand it over then: its prompt was being computed, say
  no_room,   // the destination had none for it
  outgrown,  // the answer came to need more room than the destination kept for it
  too_late,  // an engine did not say or do in time what it was to
  died,      // an engine broke off, or went down
  dropped,   // its memory was wanted, or lost, where it was
  no_pool,   // an engine is of no pool, or the pool's keeper is away
  refused,   // an engine refused for another reason, or said what makes no sense
};
inline constexpr std::array<const char*, 10> kMoveEndNames{
    "done",     "ended", "not_yet", "no_room", "outgrown",
    "too_late", "died",  "dropped", "no_pool", "refused"};

inline constexpr std::array kMoveFailures{MoveEnd::not_yet,  MoveEnd::no_room, MoveEnd::outgrown,
                                          MoveEnd::too_late, MoveEnd::died,    MoveEnd::dropped,
                                          MoveEnd::no_pool,  MoveEnd::refused};
[[nodiscard]] constexpr const char* name_of(MoveEnd end) noexcept {
  return kMoveEndNames[static_cast<std::size_t>(end)];
}
[[nodiscard]] constexpr bool is_failure(MoveEnd end) noexcept {
  return end > MoveEnd::ended;
}

inline constexpr std::array kMoveKinds{migration::Kind::kv, migration::Kind::tokens};
[[nodiscard]] constexpr const char* name_of(migration::Kind kind) noexcept {
  return kind == migration::Kind::kv ? "kv" : "tokens";
}

// The failure that an engine names; nullopt: there is none of this name.
[[nodiscard]] std::optional<MoveEnd> failure_named(std::string_view name) noexcept;

// How many moves of each kind ended in each way.
struct MoveCounts {
  std::array<std::array<std::uint64_t, kMoveEndNames.size()>, kMoveKinds.size()> counts{};

  void add(migration::Kind kind, MoveEnd end) noexcept { ++at(kind, end); }
  [[nodiscard]] std::uint64_t of(migration::Kind kind, MoveEnd end) const noexcept {
    return counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(end)];
  }
  [[nodiscard]] std::uint64_t failed(migration::Kind kind) const noexcept;

 private:
  [[nodiscard]] std::uint64_t& at(migration::Kind kind, MoveEnd end) noexcept {
    return counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(end)];
  }
};

// By what plans move a request: by KV for as long as that may succeed. What fails for a moment is
// tried again, three times in a row at most, since tokens need less of the engines (no room ahead,
// no prompt that is computed already); what lasts is not. A move that is done says nothing against
// KV, so that after it all begins anew.
enum class MoveBy : std::uint8_t { kv, kv_again, kv_once_more, tokens };
[[nodiscard]] MoveBy next_by(MoveBy by, migration::Kind kind, MoveEnd end) noexcept;

}  // namespace aqua::router
