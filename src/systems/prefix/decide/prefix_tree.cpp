// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_tree.hpp"

#include <cassert>

namespace aqua::prefix {

Node PrefixTree::find(const BlockHash& hash) const noexcept {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? no_node : found->second;
}

Node PrefixTree::add(const BlockHash& hash, Node parent) {
  Node node = static_cast<Node>(blocks_.size());
  if (free_.empty()) {
    blocks_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  PrefixBlock& block = blocks_[node];
  block = {};
  block.hash = hash;
  block.parent = parent;
  if (parent != no_node) {
    block.next = blocks_[parent].first_child;
    if (block.next != no_node) blocks_[block.next].previous = node;
    blocks_[parent].first_child = node;
  }
  by_hash_.emplace(hash, node);
  return node;
}

void PrefixTree::set_present(Node node, bool present) {
  PrefixBlock& block = blocks_[node];
  if (block.present == present) return;
  block.present = present;
  present ? ++present_ : --present_;
  if (block.parent == no_node) return;
  PrefixBlock& parent = blocks_[block.parent];
  present ? ++parent.children : --parent.children;
}

void PrefixTree::remove(Node node) {
  set_present(node, false);
  const PrefixBlock block = blocks_[node];
  assert(block.first_child == no_node && !block.held());
  if (block.previous != no_node) {
    blocks_[block.previous].next = block.next;
  } else if (block.parent != no_node) {
    blocks_[block.parent].first_child = block.next;
  }
  if (block.next != no_node) blocks_[block.next].previous = block.previous;
  by_hash_.erase(block.hash);
  blocks_[node] = {};
  free_.push_back(node);
}

std::vector<Node> PrefixTree::subtree(Node node) const {
  std::vector<Node> nodes{node};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (Node child = blocks_[nodes[i]].first_child; child != no_node;
         child = blocks_[child].next) {
      nodes.push_back(child);
    }
  }
  return nodes;
}

}  // namespace aqua::prefix
