// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/pool.h"

#include "capi/call.hpp"
#include "capi/convert.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

extern "C" {

aqua_error* aqua_pool_create(aqua_runtime runtime, const aqua_pool_options* options,
                             aqua_pool* pool) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_pool_create";
    AQUA_CAPI_NOT_NULL(what, pool);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto given, take_in("aqua_pool_create: options", options));
    aqua::ElasticPoolOptions wanted;
    wanted.planes = given.planes;
    wanted.plane_bytes = given.plane_bytes;
    if (given.slab_bytes != 0) wanted.slab_bytes = given.slab_bytes;
    wanted.filler = given.filler != 0;
    AQUA_ASSIGN(auto made, aqua::ElasticPool::create(*used, wanted));
    AQUA_ASSIGN(pool->id, pools().insert(runtime.id, PoolObject{used.keep(), std::move(made)}));
    return {};
  });
}

aqua_error* aqua_pool_free(aqua_pool pool) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, pools().end("aqua_pool_free", pool.id));
    return {};
  });
}

aqua_error* aqua_pool_get_plane(aqua_pool pool, size_t number, void** address) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_pool_get_plane";
    AQUA_CAPI_NOT_NULL(what, address);
    AQUA_ASSIGN(const auto used, pools().use(what, pool.id));
    if (number >= used->pool.planes()) {
      return Error{Code::invalid_argument,
                   aqua::concat(what, ": plane ", number, " of ", used->pool.planes())};
    }
    *address = used->pool.plane(number);
    return {};
  });
}

aqua_error* aqua_pool_get_info(aqua_pool pool, aqua_pool_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_pool_get_info";
    AQUA_TRY(check_size(what, info));
    AQUA_ASSIGN(const auto used, pools().use(what, pool.id));
    const aqua::ElasticPool& asked = used->pool;
    give_out(
        aqua_pool_info{sizeof(aqua_pool_info), asked.planes(), asked.quantum_bytes(),
                       asked.total_quanta(), asked.lent_quanta(), asked.usable_bytes_per_plane()},
        info);
    return {};
  });
}

aqua_error* aqua_pool_lend(aqua_pool pool, size_t quanta, aqua_stream stream) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, pools().use("aqua_pool_lend", pool.id));
    return used->pool.lend(quanta, to_stream(stream));
  });
}

}  // extern "C"
