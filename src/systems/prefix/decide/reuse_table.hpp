// SPDX-License-Identifier: Apache-2.0
// ReuseTable is a life table of prompt blocks. It says how likely the next prompt is to ask for a
// block, by how many prompts ago it was last asked for and how often before. It watches the prompts
// themselves, not what a cache keeps of them, and remembers the last blocks seen whether they are
// still cached or not, so that evicting early cannot hide what would have been hit.
//
//   rate(kind, age) = blocks of this kind asked for at this age / blocks that reached this age
//
// counted over each prompt and pooled so that it never rises with age (isotonic regression).
// Counts are halved every so often, so that what was learnt fades.
//
// Units: age in prompts. Cost: a sighting O(1), a prompt O(ages told apart).
// Threads: not thread-safe; deterministic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>

#include "aqua/prefix/block_hash.hpp"

namespace aqua::prefix {

class ReuseTable {
 public:
  // How often a block was asked for, as far as is remembered: once, twice, more often.
  using Kind = std::uint8_t;
  static constexpr std::size_t kinds = 3;

  // Remembers `blocks` blocks.
  explicit ReuseTable(std::size_t blocks);
  void set_limit(std::size_t blocks) { limit_ = blocks; }

  // Begins the next prompt. Calls of seen() name its blocks.
  void begin_prompt();
  void seen(const BlockHash& block);
  // Remembers a block that was cached without being asked for. Counts nothing.
  void entered(const BlockHash& block);

  [[nodiscard]] std::uint64_t now() const noexcept { return now_; }  // prompts so far
  // The kind of a block; `otherwise` when it is not remembered.
  [[nodiscard]] Kind kind_of(const BlockHash& block, Kind otherwise) const;
  [[nodiscard]] double rate(Kind kind, std::uint64_t age) const;

 private:
  // Bins of ages, half an octave each: 1, 2, 3, 4, 6, 8, 12 … Blocks older than the last bin are
  // forgotten.
  static constexpr std::size_t bins = 36;
  static constexpr std::array<std::uint64_t, bins + 1> from = [] {
    std::array<std::uint64_t, bins + 1> ages{1, 2, 3};
    for (std::size_t i = 3; i < ages.size(); ++i) ages[i] = 2 * ages[i - 2];
    return ages;
  }();
  [[nodiscard]] static std::size_t bin(std::uint64_t age);
  struct Entry {
    BlockHash block{};
    std::uint64_t last = 0;
    Kind kind = 0;
  };
  using Row = std::array<double, bins>;

  void remember(const BlockHash& block, Kind kind);
  void forget(std::list<Entry>::iterator entry);
  void learn();

  std::size_t limit_;
  std::uint64_t now_ = 0;
  std::list<Entry> entries_;  // last seen first
  std::unordered_map<BlockHash, std::list<Entry>::iterator> by_hash_;
  // cohorts_[i] counts the blocks last seen at prompt first_ + i, by kind. there_ counts, of those
  // seen before now, how many are in each bin of ages.
  std::deque<std::array<std::uint32_t, kinds>> cohorts_;
  std::uint64_t first_ = 0;
  std::array<std::array<std::uint64_t, bins>, kinds> there_{};
  std::array<Row, kinds> asked_{}, exposed_{}, rate_{};
};

}  // namespace aqua::prefix
