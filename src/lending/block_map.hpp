// SPDX-License-Identifier: Apache-2.0
// BlockMap: the headers that tile an arena from end to end with blocks, each free, used or
// absent (no memory to hand out there), and the free lists through them. Suballocator is its
// only user and says what the blocks mean.
//
// Invariants, between calls: blocks follow each other without gap or overlap; no two free and
// no two absent ones are neighbours; a block is in a free list exactly when it is free.
//
// Threads: none of its own. Owns: headers only; the memory they describe is never touched.
// Units:   bytes, all multiples of the granule (1 << shift). Blocks are named by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lending/size_classes.hpp"

namespace aqua::lending {

class BlockMap {
 public:
  static constexpr std::uint32_t kNone = SizeClasses::kNone;

  enum class State : std::uint8_t { idle, absent, free, used };

  struct Block {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::uint32_t left = kNone;  // neighbours by address
    std::uint32_t right = kNone;
    std::uint32_t newer = kNone;  // neighbours in a free list; `older` also chains idle headers
    std::uint32_t older = kNone;
    std::uint32_t serial = 0;  // counts the uses of this header
    State state = State::idle;
    bool condemned = false;  // used, and to leave rather than become free; the user's to set

    [[nodiscard]] std::size_t end() const noexcept { return offset + bytes; }
  };

  // One absent block of `capacity_bytes`.
  BlockMap(std::size_t capacity_bytes, unsigned shift, std::size_t expected_blocks);

  // --- constant time ---------------------------------------------------------------------
  // A used block of exactly `bytes`, cut from the free block that fits best; or kNone.
  [[nodiscard]] std::uint32_t take(std::size_t bytes);
  // Makes a used block free and joins it with free neighbours; returns the whole.
  std::uint32_t give(std::uint32_t index);

  // --- time proportional to the blocks met -------------------------------------------------
  // Turns every part of [offset, offset + bytes) that is in state `from` into `to` (free or
  // absent). `start` is any block that begins at or before the range, such as block_at(offset);
  // returns one that begins before the range's end.
  std::uint32_t set_range(std::uint32_t start, std::size_t offset, std::size_t bytes, State from,
                          State to);
  // The block that holds the byte at `offset` < capacity.
  [[nodiscard]] std::uint32_t block_at(std::size_t offset) const;
  [[nodiscard]] std::size_t largest_free_bytes() const;

  // Null unless `index` names a block now.
  [[nodiscard]] const Block* find(std::uint32_t index) const noexcept {
    if (index >= blocks_.size() || blocks_[index].state == State::idle) return nullptr;
    return &blocks_[index];
  }
  [[nodiscard]] const Block& at(std::uint32_t index) const noexcept { return blocks_[index]; }
  void set_condemned(std::uint32_t index, bool on) noexcept { blocks_[index].condemned = on; }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return free_bytes_; }
  [[nodiscard]] std::size_t free_blocks() const noexcept { return free_blocks_; }

 private:
  [[nodiscard]] std::uint32_t add(std::size_t offset, std::size_t bytes, State state);
  [[nodiscard]] std::uint32_t split(std::uint32_t index, std::size_t bytes);
  [[nodiscard]] std::uint32_t absorb_neighbours(std::uint32_t index);
  void absorb_right(std::uint32_t index);
  [[nodiscard]] std::uint32_t find_fit(std::size_t bytes) const;
  void push_free(std::uint32_t index);
  void pull_free(std::uint32_t index);

  unsigned shift_;
  std::vector<Block> blocks_;
  std::uint32_t idle_ = kNone;       // headers to use again
  std::vector<std::uint32_t> page_;  // per page of the arena: the first block that starts in it
  SizeClasses classes_;
  std::size_t free_bytes_ = 0;
  std::size_t free_blocks_ = 0;
};

}  // namespace aqua::lending
