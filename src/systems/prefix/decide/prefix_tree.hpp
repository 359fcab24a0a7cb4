// SPDX-License-Identifier: Apache-2.0
// PrefixTree: the blocks of the index and what continues what. A block whose bytes are gone stays
// while somebody holds it, absent: nobody finds it, and it takes no room.
//
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "aqua/prefix/block_hash.hpp"
#include "aqua/types.hpp"

namespace aqua::policy {

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
  std::uint64_t prompt = 0;    // that used it last, as the reuse table counts
  std::uint8_t kind = 0;       // of its reuse, then
  int shelf = 0;               // for eviction by cost
  bool ranked = false;         // is in the orders of eviction

  [[nodiscard]] bool held() const noexcept { return holds + pins > 0; }
};

class PrefixTree {
 public:
  [[nodiscard]] Node find(const BlockHash& hash) const noexcept;  // present or not; no_node
  [[nodiscard]] PrefixBlock& at(Node node) noexcept { return blocks_[node]; }
  [[nodiscard]] const PrefixBlock& at(Node node) const noexcept { return blocks_[node]; }
  // A new block, absent.
  Node add(const BlockHash& hash, Node parent);
  void set_present(Node node, bool present);
  // Childless and not held.
  void remove(Node node);
  // This one and all that continue it, parents first.
  [[nodiscard]] std::vector<Node> subtree(Node node) const;
  [[nodiscard]] std::size_t present() const noexcept { return present_; }

 private:
  std::vector<PrefixBlock> blocks_;
  std::vector<Node> free_;
  std::unordered_map<BlockHash, Node> by_hash_;
  std::size_t present_ = 0;
};

}  // namespace aqua::policy
