// What PrefixIndex is made of: the tree, the order of eviction over its unheld leaves, the names.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "aqua/policy/prefix_index.hpp"
#include "policy/prefix_tree.hpp"

namespace aqua::policy {

class PrefixIndex::Impl {
 public:
  using Count = std::uint32_t PrefixBlock::*;  // holds or pins
  struct Named {
    std::vector<BlockHash> chain;
    std::size_t tokens = 0;
  };

  explicit Impl(const PrefixOptions& wanted) : options(wanted) {}

  [[nodiscard]] bool present(const BlockHash& hash) const;
  [[nodiscard]] PrefixMatch match(const Prefix& prefix) const;
  void use(std::span<const BlockHash> blocks);
  void hold(const BlockHash& hash, Count count);
  [[nodiscard]] Result<void> let_go(std::span<const BlockHash> blocks, Count count,
                                    const char* call);
  [[nodiscard]] PrefixInsertion insert(const Prefix& prefix, Tier tier);
  // Evicts until `blocks` more fit; false when that cannot be.
  [[nodiscard]] bool make_room(std::size_t blocks, std::vector<BlockHash>& evicted);
  [[nodiscard]] Result<void> moved(const BlockHash& hash, Tier to);
  [[nodiscard]] Result<std::vector<BlockHash>> lost(const BlockHash& hash);

  PrefixOptions options;
  PrefixTree tree;
  std::map<std::string, Named, std::less<>> names;
  std::size_t held = 0;  // present blocks held or pinned

 private:
  // Seconds that a hit of this block saves; what recomputing it costs.
  [[nodiscard]] double recompute(std::uint64_t before, std::uint64_t tokens) const;
  [[nodiscard]] double fetch(Tier tier) const {
    return options.costs.fetch_per_block[static_cast<std::size_t>(tier)];
  }
  void touch(Node node);
  // In the order of eviction are present blocks that nothing continues and nobody holds.
  void rank(Node node);
  void unrank(Node node);
  void count_holder(Node node, Count count, bool up);

  std::set<std::tuple<double, std::uint64_t, Node>> order_;
  double clock_ = 0;  // GreedyDual's inflation: the rank last evicted
  std::uint64_t uses_ = 0;
};

}  // namespace aqua::policy
