// SPDX-License-Identifier: Apache-2.0
// The note of a parcel whose bytes lie in a segment: which one, who gives it, and the words of
// whoever streams.
//
// Threads: functions of their arguments.
#pragma once

#include <optional>
#include <string>

#include "aqua/handoff/segment.hpp"

namespace aqua::pipeline {

struct SegmentNote {
  SegmentName segment{};  // without a digest
  std::string from{};     // the giver's role, without spaces
  std::string words{};
};

[[nodiscard]] std::string write_segment_note(const SegmentNote& note);
// None: it is no such note.
[[nodiscard]] std::optional<SegmentNote> parse_segment_note(const std::string& text);

}  // namespace aqua::pipeline
