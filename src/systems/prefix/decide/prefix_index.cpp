// SPDX-License-Identifier: Apache-2.0
#include "aqua/prefix/prefix_index.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/concat.hpp"
#include "systems/prefix/decide/prefix_index_impl.hpp"

namespace aqua::prefix {

Result<PrefixIndex> PrefixIndex::create(const PrefixOptions& options) {
  const auto wrong = [](const auto&... what) {
    return Error{Code::invalid_argument, concat("prefix index: ", what...)};
  };
  const auto cost = [](double x) { return std::isfinite(x) && x >= 0; };
  const PrefixCosts& costs = options.costs;
  if (options.block_tokens == 0) return wrong("block_tokens is 0");
  if (!cost(costs.compute_per_token))
    return wrong("compute_per_token is ", costs.compute_per_token);
  if (!cost(costs.attention_per_token_pair)) {
    return wrong("attention_per_token_pair is ", costs.attention_per_token_pair);
  }
  for (const double fetch : costs.fetch_per_block) {
    if (!cost(fetch)) return wrong("fetch_per_block is ", fetch);
  }
  return PrefixIndex(std::make_unique<Impl>(options));
}

PrefixIndex::PrefixIndex(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
PrefixIndex::PrefixIndex(PrefixIndex&&) noexcept = default;
PrefixIndex& PrefixIndex::operator=(PrefixIndex&&) noexcept = default;
PrefixIndex::~PrefixIndex() = default;

PrefixMatch PrefixIndex::match(const Prefix& prefix) const {
  return impl_->match(prefix);
}

PrefixMatch PrefixIndex::acquire(const Prefix& prefix) {
  impl_->observe(prefix);
  const PrefixMatch found = impl_->match(prefix);
  impl_->use(prefix.chain.first(found.blocks));
  for (const BlockHash& hash : prefix.chain.first(found.blocks)) {
    impl_->hold(hash, &PrefixBlock::holds);
  }
  return found;
}

Result<void> PrefixIndex::release(std::span<const BlockHash> blocks) {
  return impl_->let_go(blocks, &PrefixBlock::holds, "release");
}

Result<PrefixInsertion> PrefixIndex::insert(const Prefix& prefix, Tier tier) {
  const std::size_t size = options().block_tokens;
  const std::size_t count = prefix.chain.size();
  const bool fits = count == 0
                        ? prefix.tokens == 0
                        : prefix.tokens > (count - 1) * size && prefix.tokens <= count * size;
  if (!fits) {
    return Error{Code::invalid_argument,
                 concat("insert: ", prefix.tokens, " tokens are not ", count, " blocks of ", size)};
  }
  return impl_->insert(prefix, tier);
}

Result<void> PrefixIndex::pin(std::span<const BlockHash> blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!impl_->present(blocks[i])) {
      return Error{Code::not_found,
                   concat("pin: block ", i, " of ", blocks.size(), " is not there")};
    }
  }
  for (const BlockHash& hash : blocks) impl_->hold(hash, &PrefixBlock::pins);
  return {};
}

Result<void> PrefixIndex::unpin(std::span<const BlockHash> blocks) {
  return impl_->let_go(blocks, &PrefixBlock::pins, "unpin");
}

void PrefixIndex::name(std::string id, const Prefix& prefix) {
  impl_->names.insert_or_assign(
      std::move(id),
      Impl::Named{std::vector<BlockHash>(prefix.chain.begin(), prefix.chain.end()), prefix.tokens});
}

Result<Prefix> PrefixIndex::find(std::string_view id) const {
  const auto found = impl_->names.find(id);
  if (found == impl_->names.end()) {
    return Error{Code::not_found, concat("no prefix is named '", id, "'")};
  }
  return Prefix{found->second.chain, found->second.tokens};
}

Result<void> PrefixIndex::unname(std::string_view id) {
  const auto found = impl_->names.find(id);
  if (found == impl_->names.end()) {
    return Error{Code::not_found, concat("no prefix is named '", id, "'")};
  }
  impl_->names.erase(found);
  return {};
}

std::vector<BlockHash> PrefixIndex::set_capacity(std::size_t blocks) {
  std::vector<BlockHash> evicted;
  impl_->set_capacity(blocks, evicted);
  return evicted;
}

std::vector<BlockHash> PrefixIndex::evict(Tier tier) {
  return impl_->evict([tier](const PrefixBlock& block) { return block.tier == tier; });
}

std::vector<BlockHash> PrefixIndex::evict(const std::function<bool(const BlockHash&)>& which) {
  return impl_->evict([&which](const PrefixBlock& block) { return which(block.hash); });
}

Result<void> PrefixIndex::moved(const BlockHash& block, Tier to) {
  return impl_->moved(block, to);
}

Result<std::vector<BlockHash>> PrefixIndex::lost(const BlockHash& block) {
  return impl_->lost(block);
}

std::size_t PrefixIndex::blocks() const noexcept {
  return impl_->tree.present();
}
std::size_t PrefixIndex::capacity() const noexcept {
  return impl_->options.capacity_blocks;
}
std::size_t PrefixIndex::held_blocks() const noexcept {
  return impl_->held;
}
const PrefixOptions& PrefixIndex::options() const noexcept {
  return impl_->options;
}

}  // namespace aqua::prefix
