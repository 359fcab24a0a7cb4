// SPDX-License-Identifier: Apache-2.0
#include "stream/segment_note.hpp"

#include <sstream>

namespace aqua::pipeline {

std::string write_segment_note(const SegmentNote& note) {
  std::ostringstream text;
  text << note.segment.number << ' ' << note.segment.generation << ' ' << note.segment.bytes << ' '
       << note.from << '\n'
       << note.words;
  return text.str();
}

std::optional<SegmentNote> parse_segment_note(const std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return {};
  SegmentNote note{.words = text.substr(end + 1)};
  std::istringstream line(text.substr(0, end));
  if (!(line >> note.segment.number >> note.segment.generation >> note.segment.bytes >> note.from))
    return {};
  return note;
}

}  // namespace aqua::pipeline
