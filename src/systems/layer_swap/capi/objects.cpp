// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

// Constant-initialised and without destructors, as those of src/capi.
constinit LayerPoolTable all_layer_pools;
constinit HandleTable<LayerTransferObject, Kind::layer_transfer> all_layer_transfers;
constinit HandleTable<BlockPoolObject, Kind::block_pool> all_block_pools;

}  // namespace

LayerPoolTable& layer_pools() noexcept {
  return all_layer_pools;
}
HandleTable<LayerTransferObject, Kind::layer_transfer>& layer_transfers() noexcept {
  return all_layer_transfers;
}
HandleTable<BlockPoolObject, Kind::block_pool>& block_pools() noexcept {
  return all_block_pools;
}

Result<void> check_may_call(const char* what, const LockedLayerPool& locked, Where where) {
  if (locked.in_on_resize && where != Where::in_on_resize_too) {
    return Error{
        Code::failed_precondition,
        concat(what, ": not from on_resize, which the call that it would change waits for")};
  }
  if (locked.interrupted && where != Where::after_an_interruption_too) {
    return Error{Code::data_loss,
                 concat(what, ": an earlier call ran out of memory in its middle; the KV of every ",
                        "sequence is lost: aqua_layer_pool_discard(), and compute it again")};
  }
  return {};
}

}  // namespace aqua::capi
