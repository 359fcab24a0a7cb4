// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of layer swapping, and the tables they are in. LayerPool and
// BlockPool are for one thread at a time and the C ABI is for many: each object has a lock, which
// calls take in turn. The locks are recursive, since on_resize makes calls within a call.
//
// Lock order: a layer pool's, then a block pool's.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "aqua/c/layer_pool.h"
#include "aqua/layer_swap/layer_pool.hpp"
#include "capi/call.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

struct LockedLayerPool {
  std::recursive_mutex lock;
  std::uint32_t layers = 0;
  std::uint32_t planes_per_layer = 0;
  bool in_on_resize = false;  // a call further up waits for the engine's callback
  // An exception ended a call in its middle, so nobody knows what was posted; or, of one that
  // changes frames, what is mapped where.
  bool interrupted = false;
  bool damaged = false;
  std::optional<LayerPool> pool{};
};
struct LayerPoolObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedLayerPool> locked;
};

struct LockedBlockPool {
  std::recursive_mutex lock;
  layer_swap::BlockPool pool;
};
struct BlockPoolObject {
  std::unique_ptr<LockedBlockPool> locked;
};

using LayerPoolTable = HandleTable<LayerPoolObject, Kind::layer_pool, kChunksOfLayerSwap>;

[[nodiscard]] LayerPoolTable& layer_pools() noexcept;
[[nodiscard]] HandleTable<BlockPoolObject, Kind::block_pool>& block_pools() noexcept;

// What a call on a layer pool does. Only copies of sequences are posted in on_resize, and only a
// discard helps after an interruption. `look` posts nothing: after an interruption it is repeated.
enum class Does : std::uint8_t { look, step, copy, change_frames, discard };

// failed_precondition in on_resize, data_loss after an interruption.
[[nodiscard]] Result<void> check_may_call(const char* what, const LockedLayerPool& locked,
                                          Does does);

// Runs use(object) as the only call on the pool. `what` names the call.
template <typename Use>
[[nodiscard]] Result<void> use_pool(const char* what, aqua_layer_pool handle, Does does,
                                    Use&& use) {
  AQUA_ASSIGN(const auto object, layer_pools().use(what, handle.id));
  LockedLayerPool& locked = *object->locked;
  const std::lock_guard guard(locked.lock);
  AQUA_TRY(check_may_call(what, locked, does));
  try {
    return use(*object);
  } catch (...) {
    if (does == Does::change_frames)
      locked.damaged = true;
    else if (does != Does::look)
      locked.interrupted = true;
    throw;
  }
}

// The same for a call that only asks, which may be made at any time and interrupts nothing.
template <typename Ask>
[[nodiscard]] Result<void> ask_pool(const char* what, aqua_layer_pool handle, Ask&& ask) {
  AQUA_ASSIGN(const auto object, layer_pools().use(what, handle.id));
  const std::lock_guard guard(object->locked->lock);
  return ask(*object->locked);
}

}  // namespace aqua::capi
