// SPDX-License-Identifier: Apache-2.0
// PrefixIndex knows which prefixes of prompts have their KV in the swap space, finds the longest
// one for a new prompt, and says what to evict. Numbers only: whoever keeps the bytes (an engine;
// aqua/prefix/prefix_cache.hpp over AquaTensors; the simulator) asks here and does as told.
//
//   auto match = index.acquire(prefix);  // fetch match.blocks blocks, compute the rest;
//   auto done = index.release(prefix.chain.first(match.blocks));  // once they are fetched
//   auto added = index.insert(prefix, Tier::peer);  // store these blocks, free the evicted ones
//
// A prefix is a chain of block hashes (aqua/prefix/block_hash.hpp, or the caller's own). A block
// is evicted only after all blocks that continue it, since nothing reaches those without it, and
// never while it is held or pinned.
//
// Eviction, lru: the least recently used goes first, whatever it costs. cost_aware: what keeping a
// block until the next prompt is expected to save is least: the seconds that a hit saves, to
// recompute it (more the further back it is, by attention) less to fetch it from its tier, times
// how likely the next prompt is to ask for it. That is learnt from the prompts that acquire()
// sees, by the time since a block was last asked for and by how often it was (a hit density, as in
// LHD, Beckmann, Chen and Cidon, NSDI 2018). Two ghosts without bytes watch the same prompts, one
// with each rule, and this rule is followed only while it has saved more than lru would have.
// docs/engine/scheduling.md has both, compared.
//
// Order: bytes are not ready when insert() returns; the caller sees to it that a fetch of a block
// comes after the store of it. AquaTensors do so by themselves.
// Shared swap space: set_capacity() with what preemption leaves; held_blocks() is what
// preemption cannot have.
// Threads: not thread-safe; pure and deterministic.
// Cost: O(log n) a block touched, n blocks in the index; cost_aware three times that, and about
// 1 KiB of memory a block, a quarter of it to remember four evicted ones.
// Errors: a call that fails changes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/prefix/block_hash.hpp"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua::prefix {

enum class Eviction : std::uint8_t { cost_aware, lru };

// What cost_aware eviction weighs; seconds. Only ratios matter to it. No cost to compute: as lru.
struct PrefixCosts {
  double compute_per_token = 0;         // the linear part of a token's prefill
  double attention_per_token_pair = 0;  // more of it for each token before
  // A block from Tier::local, Tier::peer, Tier::host.
  std::array<double, 3> fetch_per_block{};
};

struct PrefixOptions {
  std::uint32_t block_tokens = 256;  // in a block of this index; at least 1
  std::size_t capacity_blocks = SIZE_MAX;
  Eviction eviction = Eviction::cost_aware;
  PrefixCosts costs{};
};

// A prompt's blocks. `tokens` is what they cover: the last block may be partial, all before it are
// whole: (n - 1) * block_tokens < tokens <= n * block_tokens.
struct Prefix {
  std::span<const BlockHash> chain{};
  std::size_t tokens = 0;
};

struct PrefixMatch {
  std::size_t blocks = 0;      // so many leading blocks are there
  std::size_t tokens = 0;      // what they cover; a partial block counts with the tokens it has
  Tier slowest = Tier::local;  // of them; local when there are none
  double fetch_seconds = 0;    // of them, one after the other
  double recompute_seconds = 0;
  friend bool operator==(const PrefixMatch&, const PrefixMatch&) = default;
};

struct PrefixInsertion {
  // Blocks first .. first + blocks - 1 of the chain are new: store them. Those before were there;
  // those after found no room.
  std::size_t first = 0;
  std::size_t blocks = 0;
  std::vector<BlockHash> evicted{};  // free their bytes first
};

class AQUA_API PrefixIndex {
 public:
  // invalid_argument names the field.
  [[nodiscard]] static Result<PrefixIndex> create(const PrefixOptions& options);
  PrefixIndex(PrefixIndex&&) noexcept;
  PrefixIndex& operator=(PrefixIndex&&) noexcept;
  ~PrefixIndex();

  // --- by content ----------------------------------------------------------------------------
  // The longest prefix that is there. Changes nothing.
  [[nodiscard]] PrefixMatch match(const Prefix& prefix) const;
  // Does the same, counts it as use, and holds each of the blocks once more until release().
  [[nodiscard]] PrefixMatch acquire(const Prefix& prefix);
  // Takes back one hold of each block. Holds are counted, not told apart. failed_precondition when
  // one of the blocks is not held.
  [[nodiscard]] Result<void> release(std::span<const BlockHash> blocks);
  // Puts in what is missing, as far as there is room after evicting; what is there counts as used.
  // `tier` is where new blocks' bytes go. invalid_argument when tokens do not fit the chain.
  [[nodiscard]] Result<PrefixInsertion> insert(const Prefix& prefix, Tier tier);
  // Holds for as long as it takes, whatever the room: unpin() ends it. not_found when a block is
  // not there. A prefix may be pinned several times.
  [[nodiscard]] Result<void> pin(std::span<const BlockHash> blocks);
  [[nodiscard]] Result<void> unpin(std::span<const BlockHash> blocks);

  // --- by the caller's own id (Aqua, section 8) ------------------------------------------------
  // Remembers the chain under a name, in or not in the index; another one replaces it. The name
  // keeps nothing from eviction (pin() does), and goes only by unname().
  void name(std::string id, const Prefix& prefix);
  [[nodiscard]] Result<Prefix> find(std::string_view id) const;  // valid until the name changes
  [[nodiscard]] Result<void> unname(std::string_view id);

  // --- the swap space ------------------------------------------------------------------------
  // Sets the capacity and evicts down to it; returns the blocks whose bytes to free. Blocks that
  // are held stay, and are evicted by the first set_capacity() or insert() after their release.
  [[nodiscard]] std::vector<BlockHash> set_capacity(std::size_t blocks);
  // Evicts the least recently used block whose bytes are on this tier, and the blocks that continue
  // it on whatever tier, for whoever needs room there. Returns them: free their bytes. Blocks that
  // are held stay, and those that they continue; none when no other lies there. O(n).
  [[nodiscard]] std::vector<BlockHash> evict(Tier tier);
  // Does the same with the least recently used block for which `which` says true. It is asked only
  // of blocks that may be evicted.
  [[nodiscard]] std::vector<BlockHash> evict(const std::function<bool(const BlockHash&)>& which);
  // Records that a block's bytes went to another tier. not_found when the block is not there.
  [[nodiscard]] Result<void> moved(const BlockHash& block, Tier to);
  // Records that a block's bytes are gone, and takes out this block and those that continue it,
  // held or not. Returns them: free their bytes. Whoever holds one still releases it. not_found
  // when the block is not there.
  [[nodiscard]] Result<std::vector<BlockHash>> lost(const BlockHash& block);

  // --- questions -----------------------------------------------------------------------------
  [[nodiscard]] std::size_t blocks() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t held_blocks() const noexcept;  // held or pinned
  [[nodiscard]] const PrefixOptions& options() const noexcept;

 private:
  class AQUA_LOCAL Impl;
  explicit PrefixIndex(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::prefix
