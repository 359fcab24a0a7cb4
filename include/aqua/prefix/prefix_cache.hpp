// SPDX-License-Identifier: Apache-2.0
// PrefixCache keeps the KV blocks of prompts' beginnings in AquaTensors, so that the next prompt
// that begins alike fetches them instead of computing them: from a neighbour's memory while it is
// lent, from host DRAM otherwise. prefix::PrefixIndex decides what is there and what goes; this
// moves the bytes.
//
//   auto cache = aqua::PrefixCache::create(runtime, layout, {.engine_block_tokens = 16});
//   auto got = cache->fetch(prefix, blocks, stream);     // copies what is cached into `blocks`
//   compute_after(got->match.tokens, stream);            // your engine, on the same stream
//   auto stored = cache->store(prefix, blocks, stream);  // for the next prompt
//   auto whole = got->wait();                            // before what was computed is used
//
// One tensor for each index block, all layers packed, so that a block moves in one copy: choose
// index blocks of a few MiB at least.
// A prefix can be computed again, so it comes after all else that wants memory: its tensors are
// discardable (TensorOptions) except those made by store_as(), and sequences that are preempted
// take their tensors by allocate(), to which cached prefixes give way. Callbacks::on_data_loss
// hears of one that a reclaim drops, by its name "prefix"; the cache notices by itself.
// Order: copies are queued on `stream`; nothing waits for them. A fetch of a block comes after the
// store of it, and a block evicted while a copy of it is queued is freed after that copy.
// Kept (PrefixCacheOptions::keep): what is stored is copied to the keeper as well, behind the
// engine, and the next cache of the same name begins with it. Such a block has no tensor until it
// is hit: then it gets one, and is fetched out of it as any other. No call but create(), the
// destructor and write_behind() waits for the keeper, and no reclaim does.
//
// Threads: one at a time. Owns: the tensors; must not outlive the runtime.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/layout.hpp"
#include "aqua/prefix/prefix_index.hpp"
#include "aqua/prefix/prefix_keeping.hpp"
#include "aqua/result.hpp"
#include "aqua/runtime.hpp"
#include "aqua/ticket.hpp"

namespace aqua {

struct PrefixCacheOptions {
  // index.block_tokens is a multiple of the engine's block; capacity_blocks bounds the memory.
  prefix::PrefixOptions index{};
  std::uint32_t engine_block_tokens = 16;  // tokens in a block of the engine's
  // Where and as what blocks are kept beyond this process. Without one they end with it.
  std::optional<PrefixKeeping> keep{};
};

// How blocks go to tensors and back where the engine's cache is no memory that a Layout describes:
// of a LayerPool its packed_bytes(1), its offload() and its fetch(). Both are called within the
// cache's calls of these kinds, and queue copies in order with the stream and with what was queued
// on the tensor before, as the runtime's do. What they refer to must live, and stay where it is, as
// long as the cache. Errors are the caller's, but for two: resource_exhausted of an offload is want
// of room, and data_loss of a fetch from a tensor whose bytes are lost ends the match there.
struct PrefixCopies {
  std::size_t block_bytes = 0;  // that one of the engine's blocks takes in a tensor
  std::function<Result<Ticket>(BlockList from, AquaTensor& to, Stream stream)> offload{};
  std::function<Result<Ticket>(AquaTensor& from, BlockList to, Stream stream)> fetch{};
};

// What fetch() or store() has queued.
struct PrefixTransfer {
  prefix::PrefixMatch match{};    // fetch: what is on its way in. store: what was there before
  std::size_t blocks = 0;         // index blocks being copied
  std::vector<Ticket> tickets{};  // one for each, in order
  // Blocks this host thread until all have arrived. data_loss: recompute, and forget() the prefix.
  [[nodiscard]] AQUA_API Result<void> wait();
};

class AQUA_API PrefixCache {
 public:
  // invalid_argument names the option. The layout describes the engine's cache and stays in place
  // as long as work is queued. With `keep` it blocks until what the keeper has is open; where no
  // keeper is there the cache works all the same, and kept() says why it keeps nothing.
  [[nodiscard]] static Result<PrefixCache> create(Runtime& runtime, const Layout& layout,
                                                  const PrefixCacheOptions& options);
  // The same by copies of one's own. invalid_argument where one of them is missing.
  [[nodiscard]] static Result<PrefixCache> create(Runtime& runtime, const PrefixCopies& copies,
                                                  const PrefixCacheOptions& options);
  // One that was moved from may only be assigned to or destroyed. Its runtime may be moved, and
  // must outlive it.
  PrefixCache(PrefixCache&&) noexcept;
  PrefixCache& operator=(PrefixCache&&) noexcept;
  ~PrefixCache();

  // What fetch() would find, and what it costs, by the tiers that the last fetch() or store() saw.
  // Changes nothing.
  [[nodiscard]] prefix::PrefixMatch match(const prefix::Prefix& prefix) const;
  // Copies the longest cached beginning into the first of `blocks`, the engine's blocks of this
  // prompt in order. A block whose bytes are lost ends the match there. Keep at least one token of
  // the prompt out of the prefix when its logits are wanted.
  //   invalid_argument  fewer blocks than the match needs; nothing was queued
  [[nodiscard]] Result<PrefixTransfer> fetch(const prefix::Prefix& prefix, BlockList blocks,
                                             Stream stream);
  // Copies what is not cached yet of the prefix out of `blocks`, evicting others as needed; less
  // where there is no room. Errors: as fetch(); codes of the device.
  [[nodiscard]] Result<PrefixTransfer> store(const prefix::Prefix& prefix, BlockList blocks,
                                             Stream stream);
  // Drops every cached prefix that shares this one's first block, pinned ones too; their names
  // stay, and find nothing. Call it after data_loss.
  void forget(const prefix::Prefix& prefix);

  // --- by the caller's own id (Aqua, section 8) ------------------------------------------------
  // store() that remembers the prefix under `id` and pins what is stored of it; a name that is
  // taken is replaced. What it copies has an exit in host memory, as all that is not discardable.
  // What is there already but has none is copied anew; where there is no room for that it stays
  // as it is, pinned, and a reclaim may drop it.
  [[nodiscard]] Result<PrefixTransfer> store_as(const std::string& id, const prefix::Prefix& prefix,
                                                BlockList blocks, Stream stream);
  // not_found: no such name. One under which nothing is cached is a match of 0 blocks.
  [[nodiscard]] Result<PrefixTransfer> fetch_by(std::string_view id, BlockList blocks,
                                                Stream stream);
  // Ends the name and its pin; the blocks stay until they are evicted.
  [[nodiscard]] Result<void> drop(std::string_view id);

  // --- kept beyond this process ----------------------------------------------------------------
  // fetch() and store() post copies to the keeper as far as it has segments ready. This does so
  // without either, for an engine that idles or is about to end, and blocks until all that was
  // stored so far is kept, or for so long. True: it is, but for what kept() says was given up.
  bool write_behind(std::chrono::milliseconds patience = {});
  [[nodiscard]] PrefixKept kept() const;  // as of the last call

  // --- swap space shared with preemption -------------------------------------------------------
  // Sets the capacity in index blocks, and evicts down to it.
  void set_capacity(std::size_t blocks);
  // Runtime::allocate() for a preempted sequence. Evicts prefixes that are not pinned, the least
  // recently used first: as many as it takes while the runtime has no room, of those that have
  // host memory to give (any, if the tensor is discardable), and up to twice `options.bytes` of
  // those that lie in faster memory than the tensor would. What was evicted before a failure stays
  // so. Errors: as Runtime::allocate().
  [[nodiscard]] Result<AquaTensor> allocate(const TensorOptions& options);
  [[nodiscard]] const prefix::PrefixIndex& index() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;  // of all tensors

 private:
  class AQUA_LOCAL Impl;
  explicit PrefixCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua
