// SPDX-License-Identifier: Apache-2.0
#include "capi/objects.hpp"

#include "base/concat.hpp"

namespace aqua::capi {
namespace {

// Constant-initialised and without destructors: there before the first call, and after the last.
constinit RuntimeTable all_runtimes;
constinit HandleTable<TensorObject, Kind::tensor> all_tensors;
constinit HandleTable<PinObject, Kind::pin> all_pins;
constinit HandleTable<PoolObject, Kind::pool> all_pools;
constinit HandleTable<MemoryObject, Kind::memory> all_memories;
constinit HandleTable<Layout, Kind::layout> all_layouts;
constinit HandleTable<TicketObject, Kind::ticket> all_tickets;
constinit HandleTable<ReclaimObject, Kind::reclaim> all_reclaims;
static_assert(std::is_trivially_destructible_v<RuntimeTable>);
constinit std::array<std::atomic<CountAlive>, kKinds> counts_of_systems{};  // by kind

}  // namespace

void count_alive(Kind kind, CountAlive count) noexcept {
  counts_of_systems[static_cast<std::size_t>(kind)].store(count, std::memory_order_release);
}

std::string others_alive(std::uint64_t runtime) {
  std::string all;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const CountAlive count = counts_of_systems[kind].load(std::memory_order_acquire);
    const std::size_t alive = count == nullptr ? 0 : count(runtime);
    if (alive != 0) all += concat(", ", alive, " ", name_of(static_cast<Kind>(kind)), "s");
  }
  return all;
}

RuntimeTable& runtimes() noexcept {
  return all_runtimes;
}
HandleTable<TensorObject, Kind::tensor>& tensors() noexcept {
  return all_tensors;
}
HandleTable<PinObject, Kind::pin>& pins() noexcept {
  return all_pins;
}
HandleTable<PoolObject, Kind::pool>& pools() noexcept {
  return all_pools;
}
HandleTable<MemoryObject, Kind::memory>& memories() noexcept {
  return all_memories;
}
HandleTable<Layout, Kind::layout>& layouts() noexcept {
  return all_layouts;
}
HandleTable<TicketObject, Kind::ticket>& tickets() noexcept {
  return all_tickets;
}
HandleTable<ReclaimObject, Kind::reclaim>& reclaims() noexcept {
  return all_reclaims;
}

}  // namespace aqua::capi
