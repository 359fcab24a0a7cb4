// SPDX-License-Identifier: Apache-2.0
// What a committed segment is called in the keeper's log, so that names are known before a body is
// read: "segment NUMBER GENERATION DIGEST", and of another server's, of which it is a copy, behind
// that " copy KEEPER NUMBER GENERATION SERVER". The body has the segment's bytes, and says how
// many.
//
// Threads: plain functions. Pure: no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aqua/handoff/segment.hpp"

namespace aqua::keeper {

// A segment as the log has it.
struct LoggedSegment {
  SegmentName name{};
  std::optional<SegmentOrigin> copy_of{};
  friend bool operator==(const LoggedSegment&, const LoggedSegment&) = default;
};

[[nodiscard]] std::string key_of(const SegmentName& name,
                                 const std::optional<SegmentOrigin>& copy_of = {});
// Nothing: no segment is called so.
[[nodiscard]] std::optional<LoggedSegment> segment_of(std::string_view key, std::uint64_t bytes);

// Whether a segment's bytes, which have this digest, are its name's. Always, where its writer has
// said none.
[[nodiscard]] bool matches(const SegmentName& name, const SegmentDigest& digest);

}  // namespace aqua::keeper
