// SPDX-License-Identifier: Apache-2.0
// OpenPack is a pack that is being filled: a segment that was taken, KV that lies in it from the
// front on, and the directory that will lie behind.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "aqua/handoff/segments.hpp"
#include "systems/kv_stream/decide/replica/pack.hpp"

namespace aqua::kv_stream {

class OpenPack {
 public:
  // `head`: without entries.
  OpenPack(const Segment& segment, Pack head)
      : segment_(segment), pack_(std::move(head)), directory_(directory_bytes(pack_)) {}

  [[nodiscard]] std::uint64_t number() const { return segment_.number; }
  [[nodiscard]] std::size_t capacity() const { return segment_.bytes; }
  [[nodiscard]] bool empty() const { return pack_.entries.empty(); }
  // How many tokens of an entry like this one fit, whose ids are left out here.
  [[nodiscard]] std::uint64_t room(const PackEntry& entry) const;
  // Where the KV of the next entry goes.
  [[nodiscard]] std::size_t next_offset() const;
  // Its KV is on its way there. Before: room() for its tokens.
  void add(PackEntry entry);
  // Writes the directory, in this term. Returns the bytes to commit.
  [[nodiscard]] std::size_t close(std::uint64_t term);

 private:
  Segment segment_;
  Pack pack_;
  std::size_t kv_end_ = kPackHeadBytes;
  std::size_t directory_;
};

// The most tokens that fit a pack, one sequence's. `head`: without entries.
[[nodiscard]] std::uint64_t tokens_of_pack(const Pack& head, std::size_t pack_bytes);

}  // namespace aqua::kv_stream
