// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of KV pools. A KvPool serves many threads as it is; the lists that
// its calls answer lie here for C to read, and each has a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "aqua/c/kv_pool.h"
#include "aqua/handoff/kv_pool.hpp"
#include "base/mutex.hpp"
#include "capi/call.hpp"
#include "capi/handoff/shown_list.hpp"
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

struct ParcelHeadRow {
  explicit ParcelHeadRow(const ParcelHead& head) noexcept
      : c{sizeof(aqua_parcel_head), head.id.c_str(), head.turn} {}
  aqua_parcel_head c;
};

struct ShownPool {
  explicit ShownPool(KvPool attached) : pool(std::move(attached)) {}
  KvPool pool;
  ShownList<Parcel, ParcelRow> parcels{};
  ShownList<Undelivered, UndeliveredRow> undelivered{};
  ShownList<Delivery, DeliveryRow> deliveries{};
  ShownList<ParcelHead, ParcelHeadRow> cut_off{};
  Mutex superseded_lock{};
  std::vector<std::uint64_t> superseded AQUA_GUARDED_BY(superseded_lock){};
};

struct KvPoolObject {
  RuntimeKeep runtime;
  std::unique_ptr<ShownPool> shown;
};
using KvPoolTable = HandleTable<KvPoolObject, Kind::kv_pool, kChunksOfKvPools>;
[[nodiscard]] KvPoolTable& kv_pools() noexcept;

}  // namespace aqua::capi
