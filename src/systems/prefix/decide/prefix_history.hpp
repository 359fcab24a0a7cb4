// SPDX-License-Identifier: Apache-2.0
// PrefixHistory is the latest prompts of a prefix cache: which beginnings it was asked for, and
// which it has stored. An index is a function of these: what its eviction has learnt, and who was
// used last, comes back when they are shown to a new one (restore_index()).
//
// As it lies in a keeper's segment; numbers are little-endian:
//
//   at     bytes
//   0          8  "AQUAPFH1"
//   8         16  XXH3, of 128 bits, of all from 24 on
//   24        16  whose it is, and 40: 16 the hash of the shape: as PrefixPack's
//   56         8  order: behind the packs of lower ones
//   64         8  number of prompts, which follow, the latest last:
//              8  tokens; 4 blocks; 4: 1 it was asked for, 2 it was stored, 3 both; 16 each block
//
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "aqua/prefix/prefix_index.hpp"
#include "aqua/result.hpp"
#include "systems/prefix/decide/prefix_pack.hpp"

namespace aqua::prefix {

inline constexpr std::size_t kHistoryHeadBytes = 72;

class PrefixHistory {
 public:
  struct Prompt {
    std::vector<BlockHash> chain{};
    std::uint64_t tokens = 0;
    bool asked = false;
    bool stored = false;
    friend bool operator==(const Prompt&, const Prompt&) = default;
  };

  // Remembers as many as take so many bytes in a segment.
  explicit PrefixHistory(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void asked(const Prefix& prefix) { add(prefix, true); }
  // Where it was asked for a short while ago the two are one.
  void stored(const Prefix& prefix);

  [[nodiscard]] const std::deque<Prompt>& prompts() const { return prompts_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // that write() takes
  // Before: the memory has them.
  void write(const PackHead& head, std::span<std::byte> segment) const;
  // Takes in what was written, in place of what is there. invalid_argument: it is no history, or
  // one that cannot be; nothing has changed.
  [[nodiscard]] Result<PackHead> read(std::span<const std::byte> segment);

 private:
  void add(const Prefix& prefix, bool asked);
  void append(Prompt prompt);

  std::size_t most_bytes_;
  std::deque<Prompt> prompts_;
  std::size_t bytes_ = kHistoryHeadBytes;
};

// Shows a new index what is known of an earlier one: these usable packs, in their order, and the
// history of this order. Then it has blocks for which `has` says true, and no other; all of them
// lie in host memory.
void restore_index(PrefixIndex& index, std::span<const PrefixPack> packs,
                   const PrefixHistory& history, std::uint64_t order,
                   const std::function<bool(const BlockHash&)>& has);

}  // namespace aqua::prefix
