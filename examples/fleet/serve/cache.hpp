// SPDX-License-Identifier: Apache-2.0
// Cache is where the engine's KV lies, and where its model computes: the engine's part of a KV
// pool, or memory of its own, which it can lend. It has the carrier by which requests move: the
// pool, or one that copies into segments of the keeper.
//
// Threads: one; of carrier() and attach() any. Owns: the membership of the pool, or the memory.
// Errors:  Failure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/migration/move.hpp"
#include "aqua/runtime.hpp"
#include "compute/model.hpp"
#include "serve/own_blocks.hpp"

namespace aqua::fleet {

using Blocks = std::vector<std::uint32_t>;

// How KV changes engine.
enum class CarriedBy : std::uint8_t {
  pool,      // blocks of one pool change owner, and no byte moves
  segments,  // bytes are copied: between two caches of one keeper, or over couriers
};

struct CacheOptions {
  unsigned tokens_per_block = 16;    // as the model has it
  std::uint32_t pool_blocks = 4096;  // of all engines together
  std::string pool = "fleet";
  std::string role{};    // this engine's, no other's
  std::string keeper{};  // "": nothing is handed over
  CarriedBy carrier = CarriedBy::pool;
  // By segments: roles at other keepers, to which couriers carry parcels of this one's.
  std::vector<std::string> reaches{};
  std::uint32_t own_blocks = 0;  // of KV in memory of the engine's own: where it is of no pool

  [[nodiscard]] bool has_pool() const { return !keeper.empty() && carrier == CarriedBy::pool; }
  // The turn of the parcel of a move. Between keepers each take of a parcel raises its turn, and so
  // does each connection that is lost: the next move's is to be above all of these.
  [[nodiscard]] std::uint64_t parcel_turn(migration::Turn move) const {
    return carrier == CarriedBy::pool ? move : move << 16U;
  }
};

class Cache {
 public:
  // All outlive it.
  Cache(Runtime& runtime, const CacheOptions& options, Model& model);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  [[nodiscard]] bool has_carrier() const { return pool_ || segments_; }
  // Blocks change owner, and no byte is copied but of the last one.
  [[nodiscard]] bool has_pool() const { return pool_.has_value(); }
  // The carrier's keeper has died, or closed the connection: no further blocks of a pool come, and
  // nothing is handed over, until rejoin(). What it has stays.
  [[nodiscard]] bool keeper_is_away() const { return has_carrier() && !carrier().is_connected(); }
  // Blocks of the pool that try_take() has at hand: all that are left, once the keeper is away.
  [[nodiscard]] std::uint32_t idle_blocks() const {
    return pool_ ? static_cast<std::uint32_t>(pool_->status().idle) : 0;
  }
  // Where it has one.
  [[nodiscard]] Carrier& carrier() { return pool_ ? static_cast<Carrier&>(*pool_) : *segments_; }
  [[nodiscard]] const Carrier& carrier() const {
    return pool_ ? static_cast<const Carrier&>(*pool_) : *segments_;
  }
  [[nodiscard]] KvPool& pool() { return *pool_; }                     // where it has one
  [[nodiscard]] OwnBlocks* own() { return own_ ? &*own_ : nullptr; }  // where it has none
  [[nodiscard]] const OwnBlocks* own() const { return own_ ? &*own_ : nullptr; }
  // A carrier as it has, of a keeper that is there again. Blocks for the keeper. Errors:
  // KvPool::attach()'s, or SegmentCarrier::attach()'s.
  [[nodiscard]] Result<std::shared_ptr<Carrier>> attach();
  // Copies each block of `from` into the block of `next` at the same place of `to`. The pool is
  // `next` from then on: whatever blocks this engine had in the former are gone.
  void rejoin(KvPool next, const Blocks& from, const Blocks& to);
  // The carrier is `next` from then on. Its blocks are the engine's own, and stay.
  void rejoin(SegmentCarrier next) { segments_ = std::move(next); }
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
  [[nodiscard]] Result<SegmentCarrier> attach_segments();
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
  std::optional<Layout> own_layout_{};  // as carriers see it; before segments_, which has it
  std::optional<SegmentCarrier> segments_{};
  std::optional<Layout> layout_{};  // as kernels see it
};

}  // namespace aqua::fleet
