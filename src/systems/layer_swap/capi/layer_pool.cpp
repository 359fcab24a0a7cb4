// SPDX-License-Identifier: Apache-2.0
// Layer pools: how they are made, what they say of themselves, and their steps.
#include <vector>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/sized.hpp"
#include "systems/layer_swap/capi/block_list.hpp"
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

void tell(LockedLayerPool& locked, const aqua_layer_pool_options& given,
          const LayerPoolResize& news) {
  std::vector<aqua_block_move> moved;
  moved.reserve(news.moved.size());
  for (const auto& move : news.moved) moved.push_back({move.sequence, move.from, move.to});
  const aqua_layer_pool_change change{sizeof(aqua_layer_pool_change),
                                      news.frames,
                                      news.usable_blocks,
                                      news.preempt.data(),
                                      news.preempt.size(),
                                      moved.data(),
                                      moved.size(),
                                      news.done ? 1U : 0U};
  const InCallback here;
  locked.in_on_resize = true;
  given.on_resize(given.user, &change);
  locked.in_on_resize = false;
}

LayerPoolOptions to_options(const aqua_layer_pool_options& c) {
  LayerPoolOptions options;
  options.layers = c.layers;
  options.planes_per_layer = c.planes_per_layer;
  options.block_bytes = c.block_bytes;
  options.device_bytes = c.device_bytes;
  options.frames = c.frames;
  options.goal = string_or_empty(c.goal);
  if (!string_or_empty(c.schedule).empty()) options.schedule = c.schedule;
  if (c.slab_bytes != 0) options.slab_bytes = c.slab_bytes;
  if (!string_or_empty(c.name).empty()) options.name = c.name;
  return options;
}

Result<void> create(const char* what, aqua_runtime runtime, const aqua_layer_pool_options& given,
                    aqua_layer_pool* pool) {
  AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
  auto locked = std::make_unique<LockedLayerPool>();
  locked->layers = given.layers;
  locked->planes_per_layer = given.planes_per_layer;
  LayerPoolOptions options = to_options(given);
  if (given.on_resize != nullptr) {
    options.on_resize = [to = locked.get(), given](const LayerPoolResize& news) {
      tell(*to, given, news);
    };
  }
  AQUA_ASSIGN(auto made, LayerPool::create(*used, options));
  locked->pool.emplace(std::move(made));
  count_alive(Kind::layer_pool, [](std::uint64_t id) { return layer_pools().count(id); });
  AQUA_ASSIGN(pool->id,
              layer_pools().insert(runtime.id, LayerPoolObject{used.keep(), std::move(locked)}));
  return {};
}

aqua_layer_pool_status to_c(const LayerPoolStatus& status) noexcept {
  aqua_layer_pool_status c = AQUA_LAYER_POOL_STATUS_INIT;
  c.frames = status.frames;
  c.usable_blocks = status.usable_blocks;
  c.streamed_layers = status.streamed_layers;
  c.proposed_frames = status.proposed_frames;
  c.steps = status.steps;
  c.fetched_bytes = status.fetched_bytes;
  c.written_bytes = status.written_bytes;
  c.away_bytes = status.away_bytes;
  c.away_peer_bytes = status.away_peer_bytes;
  c.resizes = status.resizes;
  c.compute_seconds = status.compute_seconds;
  c.stall_seconds = status.stall_seconds;
  c.fetch_seconds = status.fetch_seconds;
  c.write_seconds = status.write_seconds;
  copy_name(c.reason, status.reason);
  return c;
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

extern "C" {

aqua_error* aqua_layer_pool_create(aqua_runtime runtime, const aqua_layer_pool_options* options,
                                   aqua_layer_pool* pool) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_create";
    AQUA_CAPI_NOT_NULL(what, pool);
    AQUA_ASSIGN(const auto given, take_in("aqua_layer_pool_create: options", options));
    return create(what, runtime, given, pool);
  });
}

aqua_error* aqua_layer_pool_free(aqua_layer_pool pool) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, layer_pools().end("aqua_layer_pool_free", pool.id));
    return {};
  });
}

aqua_error* aqua_layer_pool_get_plane(aqua_layer_pool pool, uint32_t layer, uint32_t plane,
                                      void** address) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_get_plane";
    AQUA_CAPI_NOT_NULL(what, address);
    return ask_pool(what, pool, [&](const LockedLayerPool& asked) -> Result<void> {
      if (layer >= asked.layers || plane >= asked.planes_per_layer) {
        return Error{Code::invalid_argument,
                     aqua::concat(what, ": layer ", layer, " of ", asked.layers, ", plane ", plane,
                                  " of ", asked.planes_per_layer)};
      }
      const auto planes = asked.pool->planes(layer);
      if (planes.empty())
        return Error{Code::failed_precondition, aqua::concat(what, ": layer ", layer, " is away")};
      *address = planes[plane];
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_usable_blocks(aqua_layer_pool pool, uint32_t* blocks) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_usable_blocks";
    AQUA_CAPI_NOT_NULL(what, blocks);
    return ask_pool(what, pool, [&](const LockedLayerPool& asked) -> Result<void> {
      *blocks = asked.pool->usable_blocks();
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_usable_blocks_with(aqua_layer_pool pool, uint32_t frames,
                                               uint32_t* blocks) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_usable_blocks_with";
    AQUA_CAPI_NOT_NULL(what, blocks);
    return ask_pool(what, pool, [&](const LockedLayerPool& asked) -> Result<void> {
      *blocks = asked.pool->usable_blocks(frames);
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_packed_bytes(aqua_layer_pool pool, size_t blocks, size_t* bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_packed_bytes";
    AQUA_CAPI_NOT_NULL(what, bytes);
    return ask_pool(what, pool, [&](const LockedLayerPool& asked) -> Result<void> {
      if (blocks > SIZE_MAX / asked.pool->packed_bytes(1)) {
        return Error{Code::invalid_argument, aqua::concat(what, ": ", blocks, " blocks of ",
                                                          asked.pool->packed_bytes(1), " bytes")};
      }
      *bytes = asked.pool->packed_bytes(blocks);
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_get_status(aqua_layer_pool pool, aqua_layer_pool_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_get_status";
    AQUA_TRY(check_size(what, status));
    return ask_pool(what, pool, [&](const LockedLayerPool& asked) -> Result<void> {
      give_out(to_c(asked.pool->status()), status);
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_begin_step(aqua_layer_pool pool, aqua_stream stream,
                                       const uint32_t* reads, size_t read_count,
                                       const uint32_t* writes, size_t write_count) {
  return call([&] {
    constexpr const char* what = "aqua_layer_pool_begin_step";
    return use_pool(what, pool, Does::step, [&](LayerPoolObject& of) -> Result<void> {
      aqua::LayerPool& used = *of.locked->pool;
      AQUA_ASSIGN(const auto read, to_list(what, "reads", used, reads, read_count));
      AQUA_ASSIGN(const auto written, to_list(what, "writes", used, writes, write_count));
      return used.begin_step(to_stream(stream), read, written);
    });
  });
}

aqua_error* aqua_layer_pool_begin_layer(aqua_layer_pool pool, uint32_t layer) {
  return call([&] {
    return use_pool("aqua_layer_pool_begin_layer", pool, Does::step,
                    [&](LayerPoolObject& of) -> Result<void> {
                      AQUA_TRY(of.locked->pool->begin_layer(layer));
                      return {};
                    });
  });
}

aqua_error* aqua_layer_pool_end_layer(aqua_layer_pool pool, uint32_t layer) {
  return call([&] {
    return use_pool("aqua_layer_pool_end_layer", pool, Does::step,
                    [&](LayerPoolObject& of) { return of.locked->pool->end_layer(layer); });
  });
}

aqua_error* aqua_layer_pool_end_step(aqua_layer_pool pool, const aqua_step_load* load,
                                     uint64_t* step) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_end_step";
    AQUA_CAPI_NOT_NULL(what, step);
    aqua::StepLoad told;
    if (load != nullptr) {
      AQUA_ASSIGN(const auto given, take_in("aqua_layer_pool_end_step: load", load));
      told = {given.blocks_used, given.blocks_wanted};
    }
    return use_pool(what, pool, Does::step, [&](LayerPoolObject& of) -> Result<void> {
      AQUA_ASSIGN(*step, of.locked->pool->end_step(told));
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_step_done(aqua_layer_pool pool, uint64_t step, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_step_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return use_pool(what, pool, Does::look, [&](LayerPoolObject& of) -> Result<void> {
      AQUA_ASSIGN(const bool over, of.locked->pool->step_done(step));
      *done = over ? 1 : 0;
      return {};
    });
  });
}

}  // extern "C"
