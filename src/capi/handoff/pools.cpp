// SPDX-License-Identifier: Apache-2.0
// KV pools over the C ABI: what who looks after them asks of a keeper.
#include "aqua/handoff/pools.hpp"

#include "aqua/c/kv_pool.h"
#include "capi/call.hpp"
#include "capi/convert.hpp"

using namespace aqua::capi;

extern "C" {

aqua_error* aqua_kv_pool_cancel_parcel(const char* pool, const char* id, const char* keeper) {
  return call([&] {
    return aqua::cancel_parcel(string_or_empty(pool), string_or_empty(id), string_or_empty(keeper));
  });
}

aqua_error* aqua_kv_pool_move_quota(const char* pool, const char* from, const char* to,
                                    uint32_t slabs, const char* keeper) {
  return call([&] {
    return aqua::move_quota(string_or_empty(pool), string_or_empty(from), string_or_empty(to),
                            slabs, string_or_empty(keeper));
  });
}

aqua_error* aqua_kv_pool_release_quarantined(const char* pool, const char* keeper) {
  return call(
      [&] { return aqua::release_quarantined(string_or_empty(pool), string_or_empty(keeper)); });
}

aqua_error* aqua_kv_pool_remove(const char* pool, const char* keeper) {
  return call([&] { return aqua::remove_pool(string_or_empty(pool), string_or_empty(keeper)); });
}

}  // extern "C"
