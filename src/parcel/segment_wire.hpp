// SPDX-License-Identifier: Apache-2.0
// What is asked of the keeper about segments, and its answers: docs/internals/exchange.md has the
// packets. A connection that has joined is a member until it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aqua/handoff/segment.hpp"
#include "aqua/result.hpp"
#include "base/keeper/packets.hpp"

namespace aqua::segment_wire {

inline constexpr std::size_t kMostNumbers = 1024;  // in one answer
inline constexpr std::size_t kMostRows = 64;

// Answer: number, which tells this keeper from those before it, whose numbers are lower if no clock
// was put back, and after it; with it an eventfd that is written when segments have come back to
// the member, or others have ended and its last Reserve found no room.
struct Join {};
// The member's eventfd is written as well whenever what is no copy is committed for no parcel, or
// anything is dropped by name, and now.
struct Watch {};
// Answer: number, capacity; with it a descriptor of the memory, to be written.
struct Reserve {
  std::uint64_t bytes = 0;
};
// Answer: generation.
struct Commit {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  SegmentDigest digest{};
  // It goes with this one, which the caller's process gives and has not closed; 0: with none.
  std::uint64_t parcel = 0;
  // It is a copy, which goes with no parcel.
  std::optional<SegmentOrigin> copy_of{};
};
// Answer: name, capacity; with it a descriptor of the memory that can be read alone.
struct Open {
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
};
struct Close {
  std::uint64_t number = 0;
  // If it is a copy, it no longer goes with its original.
  bool adopt = false;
};
struct Drop {
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  // Its original was dropped: it goes unless somebody reads it (unavailable), or has adopted it
  // (failed_precondition).
  bool as_copy = false;
};
struct GiveUp {
  std::uint64_t number = 0;
};
// Answer: numbers of those that have come back since, as many as fit.
struct Returned {};
// The member has unmapped all that it had.
struct Leave {};
// Answer: rows of what is kept, from this number on, and whether there are more.
struct List {
  std::uint64_t first = 0;
};
// Answer: disk.
struct Disk {};
using Request = std::variant<Join, Watch, Reserve, Commit, Open, Close, Drop, GiveUp, Returned,
                             Leave, List, Disk>;

struct Reply {
  SegmentName name{};
  std::uint64_t capacity = 0;
  std::vector<std::uint64_t> numbers{};
  std::vector<SegmentStatus> rows{};
  bool more = false;
  std::optional<SegmentDisk> disk{};
  friend bool operator==(const Reply&, const Reply&) = default;
};

[[nodiscard]] std::string encode(const Request& request);
[[nodiscard]] std::string encode(const Result<Reply>& reply);
// Nothing for a request of another kind. invalid_argument for what is meant to be one of these, and
// cannot be.
[[nodiscard]] Result<std::optional<Request>> decode_request(std::string_view packet);
// The keeper's own refusal, or invalid_argument for what is no answer.
[[nodiscard]] Result<Reply> decode_reply(std::string_view packet);

}  // namespace aqua::segment_wire
