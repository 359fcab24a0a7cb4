// SPDX-License-Identifier: Apache-2.0
#include "lending/block_map.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::lending {
namespace {

constexpr unsigned kPageShift = 21;  // of BlockMap::page_; a slab is rarely smaller

// Free blocks of the request's own list to look at when no larger list has one.
constexpr int kLastLook = 32;

}  // namespace

BlockMap::BlockMap(std::size_t capacity_bytes, unsigned shift, std::size_t expected_blocks)
    : shift_(shift), page_(((capacity_bytes - 1) >> kPageShift) + 1, kNone) {
  blocks_.reserve(std::min(expected_blocks, capacity_bytes >> shift) + 1);
  (void)add(0, capacity_bytes, State::absent);
}

std::uint32_t BlockMap::take(std::size_t bytes) {
  const std::uint32_t index = find_fit(bytes);
  if (index == kNone) return kNone;
  pull_free(index);
  if (blocks_[index].bytes > bytes) push_free(split(index, bytes));
  blocks_[index].state = State::used;
  ++blocks_[index].serial;
  return index;
}

std::uint32_t BlockMap::give(std::uint32_t index) {
  assert(blocks_[index].state == State::used);
  blocks_[index].state = State::free;
  const std::uint32_t whole = absorb_neighbours(index);
  push_free(whole);
  return whole;
}

std::size_t BlockMap::largest_free_bytes() const {
  std::size_t largest = 0;
  for (std::uint32_t i = classes_.largest(); i != kNone; i = blocks_[i].older) {
    largest = std::max(largest, blocks_[i].bytes);
  }
  return largest;
}

std::uint32_t BlockMap::add(std::size_t offset, std::size_t bytes, State state) {
  std::uint32_t index = idle_;
  if (index != kNone) {
    idle_ = blocks_[index].older;
  } else {
    index = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back();
  }
  Block& n = blocks_[index];
  const std::uint32_t serial = n.serial;  // outlives the block, or a second free() could pass
  n = Block{};
  n.offset = offset;
  n.bytes = bytes;
  n.serial = serial;
  n.state = state;
  std::uint32_t& first = page_[offset >> kPageShift];
  if (first == kNone || blocks_[first].offset > offset) first = index;
  return index;
}

// Cuts a block that is in no list down to `bytes`; returns the rest, alike and in no list.
std::uint32_t BlockMap::split(std::uint32_t index, std::size_t bytes) {
  assert(bytes > 0 && bytes < blocks_[index].bytes);
  const std::uint32_t rest =
      add(blocks_[index].offset + bytes, blocks_[index].bytes - bytes, blocks_[index].state);
  Block& n = blocks_[index];  // only now: add may move the headers
  n.bytes = bytes;
  blocks_[rest].left = index;
  blocks_[rest].right = n.right;
  if (n.right != kNone) blocks_[n.right].left = rest;
  n.right = rest;
  return rest;
}

// Makes one block of `index` and its right neighbour; neither is in a list.
void BlockMap::absorb_right(std::uint32_t index) {
  const std::uint32_t gone = blocks_[index].right;
  Block& n = blocks_[index];
  Block& r = blocks_[gone];
  std::uint32_t& first = page_[r.offset >> kPageShift];
  if (first == gone) {
    const bool same_page =
        r.right != kNone && blocks_[r.right].offset >> kPageShift == r.offset >> kPageShift;
    first = same_page ? r.right : kNone;
  }
  n.bytes += r.bytes;
  n.right = r.right;
  if (r.right != kNone) blocks_[r.right].left = index;
  r.state = State::idle;
  r.older = idle_;
  idle_ = gone;
}

// Joins `index`, which is in no list, with neighbours of its state; returns the whole, in no
// list either. Blocks of one state are never neighbours otherwise, used ones excepted.
std::uint32_t BlockMap::absorb_neighbours(std::uint32_t index) {
  const State state = blocks_[index].state;
  const std::uint32_t right = blocks_[index].right;
  if (right != kNone && blocks_[right].state == state) {
    if (state == State::free) pull_free(right);
    absorb_right(index);
  }
  const std::uint32_t left = blocks_[index].left;
  if (left == kNone || blocks_[left].state != state) return index;
  if (state == State::free) pull_free(left);
  absorb_right(left);
  return left;
}

std::uint32_t BlockMap::set_range(std::uint32_t start, std::size_t offset, std::size_t bytes,
                                  State from, State to) {
  const std::size_t end = offset + bytes;
  std::uint32_t last = start;
  for (std::uint32_t i = start; i != kNone && blocks_[i].offset < end; i = blocks_[i].right) {
    if (blocks_[i].state == from && blocks_[i].offset + blocks_[i].bytes > offset) {
      if (from == State::free) pull_free(i);
      if (blocks_[i].offset < offset) {
        const std::uint32_t kept = i;
        i = split(i, offset - blocks_[i].offset);
        if (from == State::free) push_free(kept);
      }
      if (blocks_[i].offset + blocks_[i].bytes > end) {
        const std::uint32_t kept = split(i, end - blocks_[i].offset);
        if (from == State::free) push_free(kept);
      }
      blocks_[i].state = to;
      i = absorb_neighbours(i);
      if (to == State::free) push_free(i);
    }
    last = i;
  }
  return last;
}

std::uint32_t BlockMap::find_fit(std::size_t bytes) const {
  const std::uint32_t fit = classes_.find(bytes >> shift_);
  if (fit != kNone) return fit;
  int looks = kLastLook;
  for (std::uint32_t i = classes_.head(SizeClasses::of(bytes >> shift_)); i != kNone && looks > 0;
       i = blocks_[i].older, --looks) {
    if (blocks_[i].bytes >= bytes) return i;
  }
  return kNone;
}

// From the nearest page that a block
// starts in at or before it, to the right.
std::uint32_t BlockMap::block_at(std::size_t offset) const {
  std::size_t page = offset >> kPageShift;
  while (page_[page] == kNone || blocks_[page_[page]].offset > offset) --page;
  std::uint32_t i = page_[page];
  while (blocks_[i].offset + blocks_[i].bytes <= offset) i = blocks_[i].right;
  return i;
}

void BlockMap::push_free(std::uint32_t index) {
  Block& n = blocks_[index];
  const SizeClasses::Class c = SizeClasses::of(n.bytes >> shift_);
  n.newer = kNone;
  n.older = classes_.head(c);
  if (n.older != kNone) blocks_[n.older].newer = index;
  classes_.set_head(c, index);
  free_bytes_ += n.bytes;
  ++free_blocks_;
}

void BlockMap::pull_free(std::uint32_t index) {
  const Block& n = blocks_[index];
  if (n.older != kNone) blocks_[n.older].newer = n.newer;
  if (n.newer != kNone) {
    blocks_[n.newer].older = n.older;
  } else {
    classes_.set_head(SizeClasses::of(n.bytes >> shift_), n.older);
  }
  free_bytes_ -= n.bytes;
  --free_blocks_;
}

}  // namespace aqua::lending
