// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "base/try.hpp"
#include "systems/prefix/act/prefix_cache_impl.hpp"

namespace aqua {

Result<Ticket> PrefixCache::Impl::fetch_block(const BlockHash& block, BlockList to, Stream stream) {
  std::vector<Ticket> copies;
  if (!tensors_.at(block).tensor.valid()) {
    AQUA_ASSIGN(Ticket brought, bring(block, stream));
    copies.push_back(std::move(brought));
  }
  AQUA_ASSIGN(Ticket fetched, copies_.fetch(tensors_.at(block).tensor, to, stream));
  if (copies.empty()) return fetched;
  copies.push_back(std::move(fetched));
  return Ticket::join(std::move(copies));
}

Result<PrefixTransfer> PrefixCache::Impl::fetch(const Prefix& prefix, BlockList blocks,
                                                Stream stream) {
  (void)write_behind({});
  refresh(prefix);
  AQUA_TRY(check("prefix cache: fetch", index_.match(prefix).tokens, blocks));
  PrefixTransfer transfer;
  transfer.match = index_.acquire(prefix);
  if (kept_) kept_->asked(prefix);
  const auto held = prefix.chain.first(transfer.match.blocks);
  Result<void> posted;
  for (std::size_t i = 0; i < held.size() && posted.ok(); ++i) {
    auto ticket = fetch_block(held[i], part(blocks, i, transfer.match.tokens), stream);
    if (ticket.ok()) {
      transfer.tickets.push_back(std::move(*ticket));
    } else {
      posted = std::move(ticket).error();
    }
  }
  // Releases the blocks at once: a tensor outlives the copies that are queued on it.
  AQUA_TRY(index_.release(held));
  transfer.blocks = transfer.tickets.size();
  if (posted.ok()) return transfer;
  const BlockHash& failed = held[transfer.blocks];
  const Cached& cached = tensors_.at(failed);
  const Code code = posted.error().code;
  // A loss of other bytes than the tensor's, as of a LayerPool that is to be discarded, is the
  // caller's.
  const bool lost = cached.tensor.valid() && cached.tensor.lost() && code == Code::data_loss;
  const bool not_now =
      !cached.tensor.valid() &&
      (code == Code::resource_exhausted || code == Code::unavailable || code == Code::not_found);
  if (!lost && !not_now) return std::move(posted).error();
  // What the keeper alone has may be brought another time.
  if (!look_at(failed)) lose(failed);
  transfer.match = index_.match(
      {held.first(transfer.blocks), transfer.blocks * std::size_t{options_.index.block_tokens}});
  return transfer;
}

Result<PrefixTransfer> PrefixCache::Impl::store(const Prefix& prefix, BlockList blocks,
                                                Stream stream, bool keep) {
  AQUA_TRY(check("prefix cache: store", prefix.tokens, blocks));
  (void)write_behind({});
  refresh(prefix);
  PrefixTransfer transfer;
  transfer.match = index_.match(prefix);
  AQUA_ASSIGN(const prefix::PrefixInsertion added, index_.insert(prefix, Tier::peer));
  discard(added.evicted);
  // Pins the new blocks, so that making room for one does not evict another.
  const auto mine = prefix.chain.first(added.first + added.blocks);
  AQUA_TRY(index_.pin(mine));
  Result<void> stored;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const bool stays = i < added.first && (!keep || tensors_.at(mine[i]).has_exit);
    if (stays) continue;
    const BlockList list = part(blocks, i, prefix.tokens);
    auto tensor = allocate_block(list.size() * copies_.block_bytes, keep);
    if (!tensor.ok()) {
      stored = std::move(tensor).error();
    } else if (auto ticket = copies_.offload(list, *tensor, stream); !ticket.ok()) {
      stored = std::move(ticket).error();
    } else {
      transfer.tickets.push_back(std::move(*ticket));
      stored = put(mine[i], std::move(*tensor), keep);
    }
    if (stored.ok()) continue;
    // Takes out the first block without bytes, and those after it, which have none either.
    if (added.blocks > 0) lose(mine[std::max(i, added.first)]);
    break;
  }
  transfer.blocks = transfer.tickets.size();
  AQUA_TRY(index_.unpin(mine));
  if (kept_) kept_->stored(prefix);
  (void)write_behind({});
  if (!stored.ok() && stored.error().code != Code::resource_exhausted) {
    return std::move(stored).error();
  }
  return transfer;
}

Result<void> PrefixTransfer::wait() {
  for (Ticket& ticket : tickets) AQUA_TRY(ticket.wait());
  return {};
}

Result<PrefixCache> PrefixCache::create(Runtime& runtime, const Layout& layout,
                                        const PrefixCacheOptions& options) {
  // The runtime may be moved by its owner.
  auto view = std::make_shared<Runtime>(detail::Internals::view(runtime));
  PrefixCopies copies{.block_bytes = layout.block_bytes()};
  copies.offload = [view, layout](BlockList from, AquaTensor& to, Stream stream) {
    return view->offload(layout, from, to, stream);
  };
  copies.fetch = [view, layout](AquaTensor& from, BlockList to, Stream stream) {
    return view->fetch(from, layout, to, stream);
  };
  return Impl::create(runtime, copies, options, Impl::shape_of(layout));
}

Result<PrefixCache> PrefixCache::create(Runtime& runtime, const PrefixCopies& copies,
                                        const PrefixCacheOptions& options) {
  return Impl::create(runtime, copies, options, {});
}

Result<PrefixCache> PrefixCache::Impl::create(Runtime& runtime, const PrefixCopies& copies,
                                              const PrefixCacheOptions& options,
                                              std::string layout) {
  if (copies.block_bytes == 0 || !copies.offload || !copies.fetch) {
    return Error{Code::invalid_argument,
                 "prefix cache: copies want block_bytes, an offload and a fetch"};
  }
  if (options.engine_block_tokens == 0 ||
      options.index.block_tokens % options.engine_block_tokens != 0) {
    return Error{Code::invalid_argument,
                 concat("prefix cache: index.block_tokens ", options.index.block_tokens,
                        " is no multiple of engine_block_tokens ", options.engine_block_tokens)};
  }
  AQUA_ASSIGN(prefix::PrefixIndex index, prefix::PrefixIndex::create(options.index));
  auto impl = std::make_unique<Impl>(runtime, copies, options, std::move(index));
  if (options.keep) AQUA_TRY(impl->keep(*options.keep, std::move(layout)));
  return PrefixCache(std::move(impl));
}

PrefixCache::PrefixCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PrefixCache::~PrefixCache() = default;
PrefixCache::PrefixCache(PrefixCache&&) noexcept = default;
PrefixCache& PrefixCache::operator=(PrefixCache&&) noexcept = default;

PrefixMatch PrefixCache::match(const Prefix& prefix) const {
  return impl_->index_.match(prefix);
}

Result<PrefixTransfer> PrefixCache::fetch(const Prefix& prefix, BlockList blocks, Stream stream) {
  return impl_->fetch(prefix, blocks, stream);
}

Result<PrefixTransfer> PrefixCache::store(const Prefix& prefix, BlockList blocks, Stream stream) {
  return impl_->store(prefix, blocks, stream, false);
}

void PrefixCache::forget(const Prefix& prefix) {
  if (!prefix.chain.empty()) impl_->lose(prefix.chain.front());
}

Result<PrefixTransfer> PrefixCache::store_as(const std::string& id, const Prefix& prefix,
                                             BlockList blocks, Stream stream) {
  AQUA_ASSIGN(PrefixTransfer stored, impl_->store(prefix, blocks, stream, true));
  impl_->unpin(id);
  impl_->index_.name(id, prefix);
  const auto there = prefix.chain.first(impl_->index_.match(prefix).blocks);
  AQUA_TRY(impl_->index_.pin(there));
  impl_->pinned_[id].assign(there.begin(), there.end());
  return stored;
}

Result<PrefixTransfer> PrefixCache::fetch_by(std::string_view id, BlockList blocks, Stream stream) {
  AQUA_ASSIGN(const Prefix prefix, impl_->index_.find(id));
  return impl_->fetch(prefix, blocks, stream);
}

Result<void> PrefixCache::drop(std::string_view id) {
  AQUA_TRY(impl_->index_.unname(id));
  impl_->unpin(id);
  return {};
}

void PrefixCache::set_capacity(std::size_t blocks) {
  impl_->discard(impl_->index_.set_capacity(blocks));
}

Result<AquaTensor> PrefixCache::allocate(const TensorOptions& options) {
  return impl_->allocate_before_prefixes(options);
}

bool PrefixCache::write_behind(std::chrono::milliseconds patience) {
  return impl_->write_behind(patience);
}

PrefixKept PrefixCache::kept() const {
  return impl_->kept_ ? impl_->kept_->status() : PrefixKept{};
}

const prefix::PrefixIndex& PrefixCache::index() const noexcept {
  return impl_->index_;
}
std::size_t PrefixCache::bytes() const noexcept {
  return impl_->bytes_;
}

}  // namespace aqua
