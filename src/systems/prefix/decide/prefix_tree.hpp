// SPDX-License-Identifier: Apache-2.0
// PrefixTree holds the blocks of the index and which continues which. A block whose bytes are gone
// stays in it as absent while it is held: no prompt matches it, and it takes no room.
//
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "aqua/prefix/block_hash.hpp"
#include "aqua/types.hpp"

namespace aqua::prefix {

using Node = std::uint32_t;
inline constexpr Node no_node = UINT32_MAX;

struct PrefixBlock {
  BlockHash hash{};
  Node parent = no_node;
  Node first_child = no_node, next = no_node, previous = no_node;  // siblings
  std::uint32_t children = 0;                                      // present ones
  std::uint32_t tokens = 0;
  std::uint64_t before = 0;  // tokens before it in its prompt
  Tier tier = Tier::peer;
  bool present = false;
  std::uint32_t holds = 0, pins = 0;
  std::uint64_t last_use = 0;  // for eviction by age
  std::uint64_t prompt = 0;    // number of the prompt that used it last, in the reuse table
  std::uint8_t kind = 0;       // kind of its reuse at that prompt
  int shelf = 0;               // for eviction by cost
  bool ranked = false;         // it is in the orders of eviction

  [[nodiscard]] bool held() const noexcept { return holds + pins > 0; }
};

class PrefixTree {
 public:
  // Finds a block, present or absent; no_node when there is none.
  [[nodiscard]] Node find(const BlockHash& hash) const noexcept;
  [[nodiscard]] PrefixBlock& at(Node node) noexcept { return blocks_[node]; }
  [[nodiscard]] const PrefixBlock& at(Node node) const noexcept { return blocks_[node]; }
  // Adds a block, as absent.
  Node add(const BlockHash& hash, Node parent);
  void set_present(Node node, bool present);
  // Removes a block that has no children and that nobody holds.
  void remove(Node node);
  // The block and all that continue it, parents first.
  [[nodiscard]] std::vector<Node> subtree(Node node) const;
  [[nodiscard]] std::size_t present() const noexcept { return present_; }
  // Nodes are numbered below this; those of removed blocks are not present.
  [[nodiscard]] Node nodes() const noexcept { return static_cast<Node>(blocks_.size()); }

 private:
  std::vector<PrefixBlock> blocks_;
  std::vector<Node> free_;
  std::unordered_map<BlockHash, Node> by_hash_;
  std::size_t present_ = 0;
};

}  // namespace aqua::prefix
