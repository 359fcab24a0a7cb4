// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

// Constant-initialised and without destructors, as those of src/capi.
constinit LayerPoolTable all_layer_pools;
constinit HandleTable<BlockPoolObject, Kind::block_pool> all_block_pools;

}  // namespace

LayerPoolTable& layer_pools() noexcept {
  return all_layer_pools;
}
HandleTable<BlockPoolObject, Kind::block_pool>& block_pools() noexcept {
  return all_block_pools;
}

Result<void> check_may_call(const char* what, const LockedLayerPool& locked, Does does) {
  if (locked.in_on_resize && does != Does::copy) {
    return Error{Code::failed_precondition,
                 concat(what, ": not from on_resize, for which a call on the pool waits")};
  }
  if (locked.damaged) {
    return Error{Code::data_loss,
                 concat(what, ": memory ran out in the middle of a change of frames; free the ",
                        "pool, and compute the KV of every sequence again in another one")};
  }
  if (locked.interrupted && does != Does::discard) {
    return Error{Code::data_loss,
                 concat(what, ": memory ran out in the middle of an earlier call; the KV of every ",
                        "sequence is lost: discard, and compute it again")};
  }
  return {};
}

}  // namespace aqua::capi
