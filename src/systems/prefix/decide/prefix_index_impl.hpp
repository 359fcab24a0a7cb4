// SPDX-License-Identifier: Apache-2.0
// PrefixIndex::Impl: the tree of blocks, the orders in which its unheld leaves are evicted, and the
// names. With cost_aware also a table of reuse, and two ghost indexes, which see the same prompts
// without bytes behind them and evict by one rule each, to show which rule does better here.
//
// Threads: not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aqua/prefix/prefix_index.hpp"
#include "systems/prefix/decide/prefix_tree.hpp"
#include "systems/prefix/decide/reuse_table.hpp"

namespace aqua::prefix {

class PrefixIndex::Impl {
 public:
  using Count = std::uint32_t PrefixBlock::*;  // holds or pins
  struct Named {
    std::vector<BlockHash> chain;
    std::size_t tokens = 0;
  };

  enum Rule : std::uint8_t { by_age, by_cost };

  // The index itself. Adapts with ghosts where the options say cost_aware.
  explicit Impl(const PrefixOptions& wanted);
  // A ghost: evicts by this rule always. The table outlives it.
  Impl(const PrefixOptions& wanted, Rule rule, const ReuseTable* reuse)
      : options(wanted), rule_(rule), reuse_(reuse) {}

  [[nodiscard]] bool present(const BlockHash& hash) const;
  [[nodiscard]] PrefixMatch match(const Prefix& prefix) const;
  void use(std::span<const BlockHash> blocks);
  // Shows a new prompt to the table and the ghosts, and compares what each ghost would have saved.
  void observe(const Prefix& prefix);
  void set_capacity(std::size_t blocks, std::vector<BlockHash>& evicted);
  void hold(const BlockHash& hash, Count count);
  [[nodiscard]] Result<void> let_go(std::span<const BlockHash> blocks, Count count,
                                    const char* call);
  [[nodiscard]] PrefixInsertion insert(const Prefix& prefix, Tier tier);
  // Evicts until `blocks` more fit. False when too few can be evicted.
  [[nodiscard]] bool make_room(std::size_t blocks, std::vector<BlockHash>& evicted);
  [[nodiscard]] std::vector<BlockHash> evict(const std::function<bool(const PrefixBlock&)>& which);
  [[nodiscard]] Result<void> moved(const BlockHash& hash, Tier to);
  [[nodiscard]] Result<std::vector<BlockHash>> lost(const BlockHash& hash);

  PrefixOptions options;
  PrefixTree tree;
  std::map<std::string, Named, std::less<>> names;
  std::size_t held = 0;  // present blocks held or pinned

 private:
  // Seconds that computing `tokens` tokens takes, with `before` tokens ahead of them.
  [[nodiscard]] double recompute(std::uint64_t before, std::uint64_t tokens) const;
  [[nodiscard]] double fetch(Tier tier) const {
    return options.costs.fetch_per_block[static_cast<std::size_t>(tier)];
  }
  void touch(Node node);
  // Put a block into the orders of eviction, and take it out. In them are exactly the present
  // blocks that no present block continues and that nobody holds.
  void rank(Node node);
  void unrank(Node node);
  void count_holder(Node node, Count count, bool up);

  [[nodiscard]] Node victim() const;
  [[nodiscard]] Node least_worth() const;
  [[nodiscard]] double worth(const PrefixBlock& block) const;
  [[nodiscard]] int shelf_of(const PrefixBlock& block) const;
  void follow(double lead);

  using Queue = std::set<std::pair<std::uint64_t, Node>>;  // least recently used first
  Queue oldest_;
  // The same blocks by shelf: those of one kind of reuse whose worth is within half an octave, so
  // that only age tells them apart.
  std::map<int, Queue> shelves_;
  std::uint64_t uses_ = 0;
  Rule rule_ = by_age;
  std::unique_ptr<ReuseTable> table_;  // the index owns it; its ghosts read it
  const ReuseTable* reuse_ = nullptr;
  std::unique_ptr<Impl> ghosts_[2];
  // What the ghost by cost has saved more than the ghost by age, in seconds, and its variance.
  double lead_ = 0, lead_variance_ = 0;
};

}  // namespace aqua::prefix
