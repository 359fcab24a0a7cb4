#include "policy/prefix_index_impl.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::policy {

double PrefixIndex::Impl::recompute(std::uint64_t before, std::uint64_t tokens) const {
  // Each token attends to those before it in other blocks, and to half of its own block's.
  const double linear = options.costs.compute_per_token * static_cast<double>(tokens);
  const double pairs =
      static_cast<double>(tokens) * (static_cast<double>(before) + static_cast<double>(tokens) / 2);
  return linear + options.costs.attention_per_token_pair * pairs;
}

bool PrefixIndex::Impl::present(const BlockHash& hash) const {
  const Node node = tree.find(hash);
  return node != no_node && tree.at(node).present;
}

PrefixMatch PrefixIndex::Impl::match(const Prefix& prefix) const {
  PrefixMatch found;
  for (const BlockHash& hash : prefix.chain) {
    const Node node = tree.find(hash);
    if (node == no_node || !tree.at(node).present) break;
    const PrefixBlock& block = tree.at(node);
    found.blocks += 1;
    found.tokens += block.tokens;
    found.slowest = std::max(found.slowest, block.tier);
    found.fetch_seconds += fetch(block.tier);
    found.recompute_seconds += recompute(block.before, block.tokens);
  }
  return found;
}

void PrefixIndex::Impl::unrank(Node node) {
  PrefixBlock& block = tree.at(node);
  if (block.ranked) order_.erase({block.rank, block.last_use, node});
  block.ranked = false;
}

void PrefixIndex::Impl::rank(Node node) {
  if (node == no_node) return;
  PrefixBlock& block = tree.at(node);
  if (block.ranked || !block.present || block.children > 0 || block.held()) return;
  order_.emplace(block.rank, block.last_use, node);
  block.ranked = true;
}

void PrefixIndex::Impl::touch(Node node) {
  unrank(node);
  PrefixBlock& block = tree.at(node);
  const double saves = recompute(block.before, block.tokens) - fetch(block.tier);
  block.rank = options.eviction == Eviction::lru ? 0 : clock_ + std::max(0.0, saves);
  block.last_use = uses_;
  rank(node);
}

void PrefixIndex::Impl::use(std::span<const BlockHash> blocks) {
  uses_ += 1;
  for (const BlockHash& hash : blocks) touch(tree.find(hash));
}

void PrefixIndex::Impl::count_holder(Node node, Count count, bool up) {
  PrefixBlock& block = tree.at(node);
  const bool before = block.held();
  block.*count += up ? 1U : UINT32_MAX;  // or minus one
  if (block.held() == before || !block.present) return;
  up ? ++held : --held;
}

void PrefixIndex::Impl::hold(const BlockHash& hash, Count count) {
  const Node node = tree.find(hash);
  unrank(node);
  count_holder(node, count, true);
}

Result<void> PrefixIndex::Impl::let_go(std::span<const BlockHash> blocks, Count count,
                                       const char* call) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Node node = tree.find(blocks[i]);
    if (node != no_node && tree.at(node).*count > 0) {
      count_holder(node, count, false);
      continue;
    }
    for (const BlockHash& hash : blocks.first(i)) count_holder(tree.find(hash), count, true);
    return Error{node == no_node ? Code::not_found : Code::failed_precondition,
                 concat(call, ": block ", i, " of ", blocks.size(), " is not held")};
  }
  // From the end: children go before their parents.
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const Node node = tree.find(blocks[i]);
    const PrefixBlock& block = tree.at(node);
    if (block.present) {
      rank(node);
    } else if (!block.held() && block.first_child == no_node) {
      tree.remove(node);  // its bytes were lost, and nobody asks any more
    }
  }
  return {};
}

bool PrefixIndex::Impl::make_room(std::size_t blocks, std::vector<BlockHash>& evicted) {
  while (tree.present() > options.capacity_blocks ||
         options.capacity_blocks - tree.present() < blocks) {
    if (order_.empty()) return false;
    const auto [rank_of, last_use, node] = *order_.begin();
    clock_ = std::max(clock_, rank_of);
    unrank(node);
    evicted.push_back(tree.at(node).hash);
    const Node parent = tree.at(node).parent;
    tree.set_present(node, false);
    if (tree.at(node).first_child == no_node) tree.remove(node);
    rank(parent);
  }
  return true;
}

PrefixInsertion PrefixIndex::Impl::insert(const Prefix& prefix, Tier tier) {
  PrefixInsertion added;
  const std::size_t size = options.block_tokens;
  uses_ += 1;
  Node parent = no_node;
  std::size_t there = 0;
  std::vector<Node> mine;  // held until all are in: a prompt does not evict itself
  mine.reserve(prefix.chain.size());
  const auto keep = [&](Node node) {
    unrank(node);
    count_holder(node, &PrefixBlock::holds, true);
    mine.push_back(parent = node);
  };
  while (there < prefix.chain.size() && present(prefix.chain[there])) {
    const Node node = tree.find(prefix.chain[there++]);
    touch(node);
    keep(node);
  }
  added.first = there;
  for (std::size_t i = there; i < prefix.chain.size(); ++i) {
    if (!present(prefix.chain[i]) && !make_room(1, added.evicted)) break;
    Node node = tree.find(prefix.chain[i]);
    if (node == no_node) node = tree.add(prefix.chain[i], parent);
    PrefixBlock& block = tree.at(node);
    block.before = i * size;
    block.tokens = static_cast<std::uint32_t>(std::min(prefix.tokens - i * size, size));
    block.tier = tier;
    if (!block.present) {
      tree.set_present(node, true);
      if (block.held()) held += 1;
    }
    touch(node);
    keep(node);
    added.blocks += 1;
  }
  for (std::size_t i = mine.size(); i-- > 0;) {
    count_holder(mine[i], &PrefixBlock::holds, false);
    rank(mine[i]);
  }
  return added;
}

Result<void> PrefixIndex::Impl::moved(const BlockHash& hash, Tier to) {
  const Node node = tree.find(hash);
  if (node == no_node || !tree.at(node).present) {
    return Error{Code::not_found, "moved: no such block in the prefix index"};
  }
  // Its worth has changed, not the time of its last use.
  unrank(node);
  PrefixBlock& block = tree.at(node);
  const auto saves = [&] {
    return std::max(0.0, recompute(block.before, block.tokens) - fetch(block.tier));
  };
  const double before = saves();
  block.tier = to;
  if (options.eviction != Eviction::lru) block.rank += saves() - before;
  rank(node);
  return {};
}

Result<std::vector<BlockHash>> PrefixIndex::Impl::lost(const BlockHash& hash) {
  const Node first = tree.find(hash);
  if (first == no_node || !tree.at(first).present) {
    return Error{Code::not_found, "lost: no such block in the prefix index"};
  }
  std::vector<BlockHash> gone;
  const Node parent = tree.at(first).parent;
  const std::vector<Node> nodes = tree.subtree(first);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node node = nodes[i];
    if (tree.at(node).present) {
      unrank(node);
      gone.push_back(tree.at(node).hash);
      if (tree.at(node).held()) held -= 1;
      tree.set_present(node, false);
    }
    if (!tree.at(node).held() && tree.at(node).first_child == no_node) tree.remove(node);
  }
  rank(parent);
  return gone;
}

}  // namespace aqua::policy
