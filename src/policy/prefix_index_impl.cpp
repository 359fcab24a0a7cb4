#include "policy/prefix_index_impl.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace aqua::policy {
namespace {

// By cost is followed once it leads by this much: a prompt's luck is not a lead.
constexpr double clear_lead = 1.01;
// A block that was hit before is likelier to be hit again. Of the factors tried on the Mooncake
// conversation trace (1, 2, 4, 8, 16) one of the two best.
constexpr double reuse_factor = 4;
// Means over so many blocks.
constexpr double slowly = 1.0 / 1024;

}  // namespace

PrefixIndex::Impl::Impl(const PrefixOptions& wanted) : options(wanted) {
  const PrefixCosts& costs = wanted.costs;
  if (wanted.eviction == Eviction::lru) return;
  if (costs.compute_per_token <= 0 && costs.attention_per_token_pair <= 0) return;
  for (const Rule rule : {by_age, by_cost}) ghosts_[rule] = std::make_unique<Impl>(wanted, rule);
}

PrefixIndex::Impl::Rule PrefixIndex::Impl::leader() const {
  if (!ghosts_[by_cost]) return rule_;
  return saved_[by_cost] > saved_[by_age] * clear_lead ? by_cost : by_age;
}

void PrefixIndex::Impl::observe(const Prefix& prefix) {
  for (const Rule rule : {by_age, by_cost}) {
    if (!ghosts_[rule]) return;
    const PrefixMatch found = ghosts_[rule]->match(prefix);
    saved_[rule] += std::max(0.0, found.recompute_seconds - found.fetch_seconds);
    ghosts_[rule]->use(prefix.chain.first(found.blocks));
  }
}

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
  if (!block.ranked) return;
  oldest_.erase({block.last_use, node});
  cheapest_.erase({block.rank, block.last_use, node});
  block.ranked = false;
}

void PrefixIndex::Impl::rank(Node node) {
  if (node == no_node) return;
  PrefixBlock& block = tree.at(node);
  if (block.ranked || !block.present || block.children > 0 || block.held()) return;
  oldest_.emplace(block.last_use, node);
  cheapest_.emplace(block.rank, block.last_use, node);
  block.ranked = true;
}

double PrefixIndex::Impl::worth(const PrefixBlock& block) const {
  const double saves = recompute(block.before, block.tokens) - fetch(block.tier);
  return std::max(0.0, saves) * (block.reused ? reuse_factor : 1);
}

// How long a block may stay without a hit: longer the more a hit is worth. That the chance of a hit
// falls with about the square of the time since the last one makes it the root.
void PrefixIndex::Impl::touch(Node node) {
  unrank(node);
  PrefixBlock& block = tree.at(node);
  const double value = worth(block);
  usual_worth_ += (value - usual_worth_) * (usual_worth_ > 0 ? slowly : 1);
  if (!evicts_) life_ = static_cast<double>(uses_);
  const double longer = usual_worth_ > 0 ? std::sqrt(value / usual_worth_) : 0;
  block.rank = static_cast<double>(uses_) + life_ * longer;
  block.last_use = uses_;
  rank(node);
}

void PrefixIndex::Impl::use(std::span<const BlockHash> blocks) {
  uses_ += 1;
  for (const BlockHash& hash : blocks) {
    const Node node = tree.find(hash);
    tree.at(node).reused = true;
    touch(node);
  }
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

Node PrefixIndex::Impl::victim() const {
  if (oldest_.empty()) return no_node;
  return leader() == by_age ? oldest_.begin()->second : std::get<Node>(*cheapest_.begin());
}

void PrefixIndex::Impl::set_capacity(std::size_t blocks, std::vector<BlockHash>& evicted) {
  options.capacity_blocks = blocks;
  (void)make_room(0, evicted);
  std::vector<BlockHash> nothing;
  for (auto& ghost : ghosts_) {
    if (ghost) ghost->set_capacity(blocks, nothing);
  }
}

bool PrefixIndex::Impl::make_room(std::size_t blocks, std::vector<BlockHash>& evicted) {
  while (tree.present() > options.capacity_blocks ||
         options.capacity_blocks - tree.present() < blocks) {
    const Node node = victim();
    if (node == no_node) return false;
    evicts_ = true;
    const auto age = static_cast<double>(uses_ - tree.at(node).last_use);
    life_ += (age - life_) * slowly;
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
  for (auto& ghost : ghosts_) {
    if (ghost) (void)ghost->insert(prefix, tier);
  }
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
      block.reused = false;
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
  // Its worth has changed, not the time of its last use; its rank follows at the next.
  tree.at(node).tier = to;
  for (auto& ghost : ghosts_) {
    if (ghost) (void)ghost->moved(hash, to);
  }
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
