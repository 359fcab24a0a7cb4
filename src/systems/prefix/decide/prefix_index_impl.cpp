// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_index_impl.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

// Invariants:
// - A present block's parent is present: eviction takes leaves, lost() takes whole subtrees.
// - An absent block stays in the tree for those that hold or continue it; no match finds it.
// - A block is in oldest_ and, with a table, on one shelf exactly while it is `ranked`; last_use,
//   tier and kind change only while it is not.
namespace aqua::prefix {
namespace {

// How many blocks the reuse table remembers for each that there is room for. More than one, so that
// a block that was evicted too early is noticed when it is asked for again.
constexpr std::size_t remembered = 4;
std::size_t memory_of(std::size_t capacity) {
  return capacity > SIZE_MAX / remembered ? SIZE_MAX : capacity * remembered;
}

}  // namespace

PrefixIndex::Impl::Impl(const PrefixOptions& wanted) : options(wanted) {
  const PrefixCosts& costs = wanted.costs;
  if (wanted.eviction == Eviction::lru) return;
  if (costs.compute_per_token <= 0 && costs.attention_per_token_pair <= 0) return;
  table_ = std::make_unique<ReuseTable>(memory_of(wanted.capacity_blocks));
  reuse_ = table_.get();
  for (const Rule rule : {by_age, by_cost}) {
    ghosts_[rule] = std::make_unique<Impl>(wanted, rule, reuse_);
  }
}

void PrefixIndex::Impl::observe(const Prefix& prefix) {
  if (!table_) return;
  table_->begin_prompt();
  for (const BlockHash& hash : prefix.chain) table_->seen(hash);
  double saved[2] = {};
  for (const Rule rule : {by_age, by_cost}) {
    const PrefixMatch found = ghosts_[rule]->match(prefix);
    saved[rule] = std::max(0.0, found.recompute_seconds - found.fetch_seconds);
    ghosts_[rule]->use(prefix.chain.first(found.blocks));
  }
  follow(saved[by_cost] - saved[by_age]);
}

// Chooses the rule of eviction: by cost once it leads by more than the lead's standard error, by
// age once the lead is gone. In between the rule stays, because a change gives up what the other
// rule would have kept.
void PrefixIndex::Impl::follow(double lead) {
  lead_ += lead;
  lead_variance_ += lead * lead;
  if (lead_ > std::sqrt(lead_variance_)) rule_ = by_cost;
  if (lead_ <= 0) rule_ = by_age;
}

double PrefixIndex::Impl::recompute(std::uint64_t before, std::uint64_t tokens) const {
  // Counts pairs: each token attends to all tokens of earlier blocks, and to half of its own block.
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
  if (reuse_ != nullptr) {
    const auto shelf = shelves_.find(block.shelf);
    shelf->second.erase({block.last_use, node});
    if (shelf->second.empty()) shelves_.erase(shelf);
  }
  block.ranked = false;
}

void PrefixIndex::Impl::rank(Node node) {
  if (node == no_node) return;
  PrefixBlock& block = tree.at(node);
  if (block.ranked || !block.present || block.children > 0 || block.held()) return;
  oldest_.emplace(block.last_use, node);
  if (reuse_ != nullptr) {
    block.shelf = shelf_of(block);
    shelves_[block.shelf].emplace(block.last_use, node);
  }
  block.ranked = true;
}

double PrefixIndex::Impl::worth(const PrefixBlock& block) const {
  return std::max(0.0, recompute(block.before, block.tokens) - fetch(block.tier));
}

int PrefixIndex::Impl::shelf_of(const PrefixBlock& block) const {
  constexpr int spread = 8192;  // more half octaves than a double can tell apart
  const double value = worth(block);
  const int size = value > 0 ? static_cast<int>(std::floor(2 * std::log2(value))) : -spread / 2;
  return block.kind * spread + size;
}

// Finds the block whose keeping until the next prompt is expected to save the fewest seconds. Looks
// at the oldest block of each shelf only, because the rate of reuse never rises with age.
Node PrefixIndex::Impl::least_worth() const {
  Node least = no_node;
  std::pair<double, std::uint64_t> lowest;
  for (const auto& [shelf, queue] : shelves_) {
    const Node node = queue.begin()->second;
    const PrefixBlock& block = tree.at(node);
    const double rate = reuse_->rate(block.kind, reuse_->now() - block.prompt);
    const std::pair expected{worth(block) * rate, block.last_use};
    if (least != no_node && expected >= lowest) continue;
    least = node;
    lowest = expected;
  }
  return least;
}

void PrefixIndex::Impl::touch(Node node) {
  unrank(node);
  PrefixBlock& block = tree.at(node);
  block.last_use = uses_;
  if (reuse_ != nullptr) {
    block.prompt = reuse_->now();
    block.kind = reuse_->kind_of(block.hash, block.kind);
  }
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
  // Goes from the end, so that children are removed before their parents.
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const Node node = tree.find(blocks[i]);
    const PrefixBlock& block = tree.at(node);
    if (block.present) {
      rank(node);
    } else if (!block.held() && block.first_child == no_node) {
      tree.remove(node);  // its bytes were lost while it was held
    }
  }
  return {};
}

Node PrefixIndex::Impl::victim() const {
  if (oldest_.empty()) return no_node;
  return rule_ == by_age ? oldest_.begin()->second : least_worth();
}

void PrefixIndex::Impl::set_capacity(std::size_t blocks, std::vector<BlockHash>& evicted) {
  options.capacity_blocks = blocks;
  if (table_) table_->set_limit(memory_of(blocks));
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
  if (table_) {
    for (const BlockHash& hash : prefix.chain) table_->entered(hash);
  }
  for (auto& ghost : ghosts_) {
    if (ghost) (void)ghost->insert(prefix, tier);
  }
  const std::size_t size = options.block_tokens;
  uses_ += 1;
  Node parent = no_node;
  std::size_t there = 0;
  std::vector<Node> mine;  // held until all are in, so that a prompt does not evict itself
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
      block.kind = 0;
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

// A block is used no later than what it continues, so those that continue the least recently used
// block of some kind are of another kind, or are as old and further back.
std::vector<BlockHash> PrefixIndex::Impl::evict(
    const std::function<bool(const PrefixBlock&)>& which) {
  const auto order = [this](Node node) {
    return std::pair{tree.at(node).last_use, UINT64_MAX - tree.at(node).before};
  };
  std::vector<bool> stays(tree.nodes());  // held, or continued by one that is
  for (Node node = 0; node < tree.nodes(); ++node) {
    if (!tree.at(node).held()) continue;
    for (Node up = node; up != no_node && !stays[up]; up = tree.at(up).parent) stays[up] = true;
  }
  Node first = no_node;
  for (Node node = 0; node < tree.nodes(); ++node) {
    const PrefixBlock& block = tree.at(node);
    if (!block.present || stays[node] || !which(block)) continue;
    if (first == no_node || order(node) < order(first)) first = node;
  }
  if (first == no_node) return {};
  return *lost(tree.at(first).hash);
}

Result<void> PrefixIndex::Impl::moved(const BlockHash& hash, Tier to) {
  const Node node = tree.find(hash);
  if (node == no_node || !tree.at(node).present) {
    return Error{Code::not_found, "moved: no such block in the prefix index"};
  }
  const bool ranked = tree.at(node).ranked;
  unrank(node);
  tree.at(node).tier = to;  // changes its worth, and so its shelf
  if (ranked) rank(node);
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

}  // namespace aqua::prefix
