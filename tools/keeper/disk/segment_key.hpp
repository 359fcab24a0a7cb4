// SPDX-License-Identifier: Apache-2.0
// What a committed segment is called in the keeper's log, so that names are known before a body is
// read: "segment NUMBER GENERATION DIGEST". The body has the segment's bytes, and says how many.
//
// Threads: plain functions. Pure: no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "aqua/handoff/segment.hpp"

namespace aqua::keeper {

[[nodiscard]] std::string key_of(const SegmentName& name);
// Nothing: no segment is called so.
[[nodiscard]] std::optional<SegmentName> segment_of(std::string_view key, std::uint64_t bytes);

// The digest of bytes that come in pieces.
class SegmentDigester {
 public:
  SegmentDigester();
  ~SegmentDigester();
  SegmentDigester(const SegmentDigester&) = delete;
  SegmentDigester& operator=(const SegmentDigester&) = delete;
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] SegmentDigest value() const;  // of the bytes so far
  // Whether they are the name's. Always, where its writer has said no digest.
  [[nodiscard]] bool matches(const SegmentName& name) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace aqua::keeper
