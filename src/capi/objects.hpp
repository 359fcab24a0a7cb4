// SPDX-License-Identifier: Apache-2.0
// What stands behind each kind of handle, and the tables they are in. Members go in reverse
// order: what keeps a runtime open goes last.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "aqua/elastic_pool.hpp"
#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "capi/handle_table.hpp"

namespace aqua::capi {

using RuntimeTable = HandleTable<Runtime, Kind::runtime>;
using RuntimeKeep = RuntimeTable::Keep;

struct TensorObject {
  RuntimeKeep runtime;
  AquaTensor tensor;
};
struct PinObject {
  RuntimeKeep runtime;
  Pin pin;
};
struct PoolObject {
  RuntimeKeep runtime;
  ElasticPool pool;
};
struct MemoryObject {
  RuntimeKeep runtime;
  emulated::Memory memory;
};
// These two may outlive their runtime: each call on them keeps it open while it lasts.
struct TicketObject {
  std::uint64_t runtime = 0;
  Ticket ticket;
};
struct ReclaimObject {
  std::uint64_t runtime = 0;
  Reclaim reclaim;
};

[[nodiscard]] RuntimeTable& runtimes() noexcept;
[[nodiscard]] HandleTable<TensorObject, Kind::tensor>& tensors() noexcept;
[[nodiscard]] HandleTable<PinObject, Kind::pin>& pins() noexcept;
[[nodiscard]] HandleTable<PoolObject, Kind::pool>& pools() noexcept;
[[nodiscard]] HandleTable<MemoryObject, Kind::memory>& memories() noexcept;
[[nodiscard]] HandleTable<Layout, Kind::layout>& layouts() noexcept;
[[nodiscard]] HandleTable<TicketObject, Kind::ticket>& tickets() noexcept;
[[nodiscard]] HandleTable<ReclaimObject, Kind::reclaim>& reclaims() noexcept;

}  // namespace aqua::capi
