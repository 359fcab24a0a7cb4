// SPDX-License-Identifier: Apache-2.0
// Cache is where the engine's KV lies, and where its model computes: the engine's part of a KV
// pool, over which requests move, or memory of its own, which it can lend.
//
// Threads: one; of pool() any. Owns: the membership of the pool, or the memory. Errors: Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/runtime.hpp"
#include "compute/model.hpp"
#include "serve/own_blocks.hpp"

namespace aqua::fleet {

using Blocks = std::vector<std::uint32_t>;

struct CacheOptions {
  unsigned tokens_per_block = 16;    // as the model has it
  std::uint32_t pool_blocks = 4096;  // of all engines together
  std::string pool = "fleet";
  std::string role{};            // this engine's, no other's
  std::string keeper{};          // "": the KV is in memory of the engine's own
  std::uint32_t own_blocks = 0;  // there
};

class Cache {
 public:
  // All outlive it.
  Cache(Runtime& runtime, const CacheOptions& options, Model& model);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  [[nodiscard]] bool has_pool() const { return pool_.has_value(); }
  // The pool's keeper has died, or closed the connection: no further blocks come, and nothing is
  // handed over, until rejoin(). What it has stays.
  [[nodiscard]] bool keeper_is_away() const { return pool_ && !pool_->is_connected(); }
  // Blocks of the pool that try_take() has at hand: all that are left, once the keeper is away.
  [[nodiscard]] std::uint32_t idle_blocks() const {
    return pool_ ? static_cast<std::uint32_t>(pool_->status().idle) : 0;
  }
  [[nodiscard]] KvPool& pool() { return *pool_; }                     // where it has one
  [[nodiscard]] OwnBlocks* own() { return own_ ? &*own_ : nullptr; }  // where it has none
  [[nodiscard]] const OwnBlocks* own() const { return own_ ? &*own_ : nullptr; }
  // By which the pool is joined, where it has one.
  [[nodiscard]] const KvPoolOptions& pool_options() const { return *pool_options_; }
  // Copies each block of `from` into the block of `next` at the same place of `to`. The pool is
  // `next` from then on: whatever blocks this engine had in the former are gone.
  void rejoin(KvPool next, const Blocks& from, const Blocks& to);
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + options_.tokens_per_block - 1) /
                                      options_.tokens_per_block);
  }
  // So many blocks of this engine's, which holds no more than its share: blocks until the pool has
  // them. nullopt: the keeper is away, and there are not so many left. Failure: they do not come.
  [[nodiscard]] std::optional<Blocks> try_take(std::size_t count);
  // Lets go of them; nothing is queued on them.
  void release(const Blocks& blocks);
  // Copies a block into one of this engine's own, which it takes. nullopt: as try_take().
  [[nodiscard]] std::optional<std::uint32_t> copy_of(std::uint32_t block);
  // See Model.
  [[nodiscard]] std::vector<Token> compute(std::span<const Work> work);

 private:
  void compute_in(LayoutSpec spec);
  // Copies blocks between two layouts of one shape, both as kernels see them. Blocks for it.
  void copy(const LayoutSpec& from_layout, const Blocks& from, const LayoutSpec& to_layout,
            const Blocks& to);

  Runtime& runtime_;
  const CacheOptions options_;
  Model& model_;
  Stream stream_;
  std::optional<KvPoolOptions> pool_options_{};
  std::optional<KvPool> pool_{};  // or own_
  std::optional<OwnBlocks> own_{};
  std::optional<Layout> layout_{};  // as kernels see it
};

}  // namespace aqua::fleet
