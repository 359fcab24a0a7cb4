// SPDX-License-Identifier: Apache-2.0
// What stands behind each kind of handle, and the tables they are in. Members go in reverse
// order: what keeps a runtime open goes last.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aqua/elastic_pool.hpp"
#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "capi/handles/handle_table.hpp"

namespace aqua::capi {

using RuntimeTable = HandleTable<Runtime, Kind::runtime>;
using RuntimeKeep = RuntimeTable::Keep;

struct TensorObject {
  RuntimeKeep runtime;
  AquaTensor tensor;
};
struct PinObject {
  PinObject(RuntimeKeep keep, Pin held) noexcept : runtime(std::move(keep)), pin(std::move(held)) {}
  // With the last claim, since calls under way may read the pin until then.
  ~PinObject() {
    if (last_use) pin.release(*last_use);
  }
  PinObject(PinObject&&) noexcept = default;
  PinObject& operator=(PinObject&&) = delete;
  RuntimeKeep runtime;
  Pin pin;
  std::optional<Stream> last_use{};  // where this is another one than the pin's
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

// The four tables above hold keeps of a runtime, and so do KV pools and those of systems, which
// have so many chunks together: all that there can be fit into a runtime's word.
inline constexpr std::uint32_t kChunksOfKvPools = 8;
inline constexpr std::uint32_t kChunksOfLayerSwap = 60;
inline constexpr std::uint32_t kChunksOfSharing = 20;
inline constexpr std::uint32_t kChunksOfStreamers = 2;
inline constexpr std::uint32_t kChunksOfReplicas = 2;
inline constexpr std::uint32_t kChunksOfMicrobatchSwap = 1;
static_assert(4 * std::uint64_t{RuntimeTable::kMost} +
                  std::uint64_t{kChunksOfKvPools + kChunksOfLayerSwap + kChunksOfSharing +
                                kChunksOfStreamers + kChunksOfReplicas + kChunksOfMicrobatchSwap} *
                      RuntimeTable::kChunkSlots <=
              HandleWord::kMostKeeps);

// A system's objects that keep their runtime open, and KV pools. count(runtime) says how many are
// alive, so that a close that is refused can name them; it is given before the first of them is
// made.
using CountAlive = std::size_t (*)(std::uint64_t runtime);
void count_alive(Kind kind, CountAlive count) noexcept;
// ", 2 layer pools" of a runtime; empty when there is none.
[[nodiscard]] std::string others_alive(std::uint64_t runtime);

[[nodiscard]] RuntimeTable& runtimes() noexcept;
[[nodiscard]] HandleTable<TensorObject, Kind::tensor>& tensors() noexcept;
[[nodiscard]] HandleTable<PinObject, Kind::pin>& pins() noexcept;
[[nodiscard]] HandleTable<PoolObject, Kind::pool>& pools() noexcept;
[[nodiscard]] HandleTable<MemoryObject, Kind::memory>& memories() noexcept;
[[nodiscard]] HandleTable<Layout, Kind::layout>& layouts() noexcept;
[[nodiscard]] HandleTable<TicketObject, Kind::ticket>& tickets() noexcept;
[[nodiscard]] HandleTable<ReclaimObject, Kind::reclaim>& reclaims() noexcept;

}  // namespace aqua::capi
