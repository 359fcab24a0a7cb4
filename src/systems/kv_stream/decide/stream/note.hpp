// SPDX-License-Identifier: Apache-2.0
// StreamNote is what a parcel of a stream says of itself, in the note that each parcel has: whose
// part of which sequence it is. Both ends name roles and ids in the same way, so that nobody has to
// be asked where something goes.
//
//   aqua-stream 1 0123456789abcdef prefill 3 7 2 the engine's own words
//               |                  |       | | attempt
//               agreement          group   | sequence
//                                          rank
//
// Threads: functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"

namespace aqua::kv_stream {

inline constexpr std::size_t kLongestGroup = 64;    // bytes of a name
inline constexpr std::size_t kLongestWords = 3072;  // bytes; a note has 4 KiB

// A rank of a pipeline.
struct StreamEnd {
  std::string group{};
  std::uint32_t rank = 0;
  friend bool operator==(const StreamEnd&, const StreamEnd&) = default;
};

struct StreamNote {
  std::uint64_t agreement = 0;  // of model and shapes, as its writer has them: agreement_of()
  StreamEnd from{};
  std::uint64_t sequence = 0;
  // How often the sequence has been streamed to this group, this time counted. 1 or more.
  std::uint32_t attempt = 1;
  std::string words{};  // the engine's
  friend bool operator==(const StreamNote&, const StreamNote&) = default;
};

// A name of letters, digits, '-' and '_', 1 to kLongestGroup. invalid_argument: anything else.
[[nodiscard]] Result<void> check_group(const std::string& group);

[[nodiscard]] std::string write_note(const StreamNote& note);
// invalid_argument: it is no such note.
[[nodiscard]] Result<StreamNote> parse_note(std::string_view text);

// The role under which a rank takes parcels. No other takes them.
[[nodiscard]] std::string role_of(const StreamEnd& to);
// The id of what one rank streams to another of a sequence.
[[nodiscard]] std::string id_of(const StreamEnd& from, const StreamEnd& to, std::uint64_t sequence);
// Who streams which sequence by such an id. None: it is not that of something to this rank.
struct StreamId {
  StreamEnd from{};
  std::uint64_t sequence = 0;
  friend bool operator==(const StreamId&, const StreamId&) = default;
};
[[nodiscard]] std::optional<StreamId> parse_id(std::string_view id, const StreamEnd& to);
// The turn of an attempt's parcels, up to kMostAttempt. Each time that one is taken raises its turn
// by one, so that attempts are far apart.
[[nodiscard]] constexpr std::uint64_t turn_of(std::uint32_t attempt) {
  return std::uint64_t{attempt} << 24;
}
[[nodiscard]] constexpr std::uint32_t attempt_in(std::uint64_t turn) {
  return static_cast<std::uint32_t>(turn >> 24);
}
// The highest attempt there is: its turn is one that a parcel may be given under.
inline constexpr std::uint32_t kMostAttempt = std::uint32_t{1} << 25;
static_assert(turn_of(kMostAttempt) == kMostTurn);

}  // namespace aqua::kv_stream
