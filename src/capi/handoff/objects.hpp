// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of KV pools. A KvPool serves many threads as it is; the lists that
// its calls answer lie here for C to read, and each has a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "aqua/c/kv_pool.h"
#include "aqua/handoff/kv_pool.hpp"
#include "capi/call.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

// What C calls a parcel. It points into the other one.
[[nodiscard]] aqua_parcel to_c(const Parcel& parcel) noexcept;

struct ParcelRow {
  explicit ParcelRow(const Parcel& parcel) noexcept : c(to_c(parcel)) {}
  aqua_parcel c;
};
struct UndeliveredRow {
  explicit UndeliveredRow(const Undelivered& undelivered) noexcept;
  aqua_parcel parcel;
  aqua_undelivered c;
};
struct DeliveryRow {
  explicit DeliveryRow(const Delivery& delivery) noexcept;
  aqua_delivery c;
};

// A list as C reads it: pointers to rows, which point into the items. What was taken from the pool
// and could not be shown for want of memory is shown by the next call.
//
// Threads: calls come one after the other.
template <typename Item, typename Row>
class ShownList {
 public:
  using C = decltype(Row::c);

  // Shows what take() answers, in place of what was shown before.
  template <typename Take>
  void show(const Take& take, const C* const** list, std::size_t* count) {
    const std::lock_guard guard(lock_);
    if (shown_) {
      items_ = take();
      shown_ = false;
    }
    rows_.clear();
    pointers_.clear();
    rows_.reserve(items_.size());
    pointers_.reserve(items_.size());
    for (const Item& item : items_) {
      rows_.emplace_back(item);
      pointers_.push_back(&rows_.back().c);
    }
    shown_ = true;
    *list = pointers_.data();
    *count = pointers_.size();
  }

 private:
  std::mutex lock_;
  std::vector<Item> items_;
  std::vector<Row> rows_;
  std::vector<const C*> pointers_;
  bool shown_ = true;
};

struct ShownPool {
  explicit ShownPool(KvPool attached) : pool(std::move(attached)) {}
  KvPool pool;
  ShownList<Parcel, ParcelRow> parcels{};
  ShownList<Undelivered, UndeliveredRow> undelivered{};
  ShownList<Delivery, DeliveryRow> deliveries{};
  std::mutex superseded_lock{};
  std::vector<std::uint64_t> superseded{};
};

struct KvPoolObject {
  RuntimeKeep runtime;
  std::unique_ptr<ShownPool> shown;
};
using KvPoolTable = HandleTable<KvPoolObject, Kind::kv_pool, kChunksOfKvPools>;
[[nodiscard]] KvPoolTable& kv_pools() noexcept;

// Blocks as C names them. invalid_argument: more than the pool has, before any of them is read; a
// longer list names a block twice, or is shorter than it says.
[[nodiscard]] Result<BlockList> to_blocks(const char* what, const KvPool& pool,
                                          const std::uint32_t* blocks, std::size_t count);

}  // namespace aqua::capi
