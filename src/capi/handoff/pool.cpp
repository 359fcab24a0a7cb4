// SPDX-License-Identifier: Apache-2.0
// KV pools over the C ABI: joining one, its memory, its blocks.
#include <algorithm>

#include "aqua/c/kv_pool.h"
#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/handoff/objects.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

constinit KvPoolTable all_kv_pools;

Result<KvPoolShape> to_shape(const aqua_kv_pool_shape* shape) {
  AQUA_ASSIGN(const auto given, take_in<aqua_kv_pool_shape>("aqua_kv_pool_attach: shape", shape,
                                                            AQUA_KV_POOL_SHAPE_INIT));
  return KvPoolShape{.layers = given.layers,
                     .planes_per_layer = given.planes_per_layer,
                     .plane_block_bytes = given.plane_block_bytes,
                     .tokens_per_block = given.tokens_per_block,
                     .blocks = given.blocks,
                     .format = string_or_empty(given.format)};
}

Result<KvPoolOptions> to_options(const aqua_kv_pool_options* options) {
  AQUA_ASSIGN(const auto given, take_in<aqua_kv_pool_options>("aqua_kv_pool_attach: options",
                                                              options, AQUA_KV_POOL_OPTIONS_INIT));
  AQUA_ASSIGN(KvPoolShape shape, to_shape(given.shape));
  return KvPoolOptions{.name = string_or_empty(given.name),
                       .role = string_or_empty(given.role),
                       .shape = std::move(shape),
                       .slab_bytes = given.slab_bytes,
                       .reserve = given.reserve,
                       .quota_blocks = given.quota_blocks,
                       .keeper = string_or_empty(given.keeper)};
}

aqua_kv_pool_status to_c(const KvPoolStatus& status) noexcept {
  aqua_kv_pool_status c = AQUA_KV_POOL_STATUS_INIT;
  c.idle = status.idle;
  c.used = status.used;
  c.taken = status.taken;
  c.ready = status.ready;
  c.waiting = status.waiting;
  c.connected = status.connected ? 1 : 0;
  copy_name(c.error, status.error);
  return c;
}

}  // namespace

KvPoolTable& kv_pools() noexcept {
  return all_kv_pools;
}

}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

extern "C" {

aqua_error* aqua_kv_pool_attach(aqua_runtime runtime, const aqua_kv_pool_options* options,
                                aqua_kv_pool* pool) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_attach";
    AQUA_CAPI_NOT_NULL(what, pool);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto wanted, to_options(options));
    AQUA_ASSIGN(auto attached, aqua::KvPool::attach(*used, wanted));
    auto shown = std::make_unique<ShownPool>(std::move(attached));
    count_alive(Kind::kv_pool, [](std::uint64_t id) { return kv_pools().count(id); });
    AQUA_ASSIGN(pool->id,
                kv_pools().insert(runtime.id, KvPoolObject{used.keep(), std::move(shown)}));
    return {};
  });
}

aqua_error* aqua_kv_pool_free(aqua_kv_pool pool) {
  return free_waiting("aqua_kv_pool_free", kv_pools(), pool.id);
}

aqua_error* aqua_kv_pool_get_status(aqua_kv_pool pool, aqua_kv_pool_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    give_out(to_c(used->shown->pool.status()), status);
    return {};
  });
}

aqua_error* aqua_kv_pool_get_plane(aqua_kv_pool pool, uint32_t layer, uint32_t plane,
                                   void** address) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_get_plane";
    AQUA_CAPI_NOT_NULL(what, address);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    const aqua::LayoutSpec& spec = used->shown->pool.layout().spec();
    if (layer >= spec.layers || plane >= spec.planes_per_layer) {
      return Error{Code::invalid_argument,
                   aqua::concat(what, ": layer ", layer, " of ", spec.layers, ", plane ", plane,
                                " of ", spec.planes_per_layer)};
    }
    *address = spec.planes[std::size_t{layer} * spec.planes_per_layer + plane];
    return {};
  });
}

aqua_error* aqua_kv_pool_create_layout(aqua_kv_pool pool, aqua_layout* layout) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_create_layout";
    AQUA_CAPI_NOT_NULL(what, layout);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(layout->id, layouts().insert(0, aqua::Layout(used->shown->pool.layout())));
    return {};
  });
}

aqua_error* aqua_kv_pool_allocate(aqua_kv_pool pool, size_t count, uint32_t* blocks) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_allocate";
    if (count != 0) AQUA_CAPI_NOT_NULL(what, blocks);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(const auto given, used->shown->pool.allocate(count));
    std::ranges::copy(given, blocks);
    return {};
  });
}

aqua_error* aqua_kv_pool_release(aqua_kv_pool pool, const uint32_t* blocks, size_t count,
                                 aqua_stream stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_release";
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(const auto list, to_block_list(what, used->shown->pool.layout(), blocks, count));
    return used->shown->pool.release(list, to_stream(stream));
  });
}

aqua_error* aqua_kv_pool_share(aqua_kv_pool pool, const uint32_t* blocks, size_t count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_share";
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(const auto list, to_block_list(what, used->shown->pool.layout(), blocks, count));
    return used->shown->pool.share(list);
  });
}

aqua_error* aqua_kv_pool_wait(aqua_kv_pool pool, uint32_t patience_ms, int* news) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_wait";
    AQUA_CAPI_NOT_NULL(what, news);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    *news = used->shown->pool.wait(std::chrono::milliseconds(patience_ms)) ? 1 : 0;
    return {};
  });
}

}  // extern "C"
