// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/block_pool.h"

#include <algorithm>
#include <utility>

#include "capi/sized.hpp"
#include "systems/layer_swap/capi/objects.hpp"

using namespace aqua::capi;
using aqua::Result;
using aqua::layer_swap::BlockPool;

namespace aqua::capi {
namespace {

template <typename Use>
Result<void> use_list(const char* what, aqua_block_pool handle, Use&& use) {
  AQUA_ASSIGN(const auto object, block_pools().use(what, handle.id));
  const std::lock_guard guard(object->locked->lock);
  return use(object->locked->pool);
}

// Changes a copy, which takes the list's place when all went well, memory included.
template <typename Change>
Result<void> change_list(const char* what, aqua_block_pool handle, Change&& change) {
  return use_list(what, handle, [&](BlockPool& list) -> Result<void> {
    BlockPool changed = list;
    AQUA_TRY(change(changed));
    list = std::move(changed);
    return {};
  });
}

// Writes as many as there is room for, and how many there are.
template <typename Number>
void write_out(const std::vector<Number>& all, Number* place, std::size_t capacity,
               std::size_t* count) {
  std::copy_n(all.begin(), std::min(all.size(), capacity), place);
  *count = all.size();
}

Result<void> check_room(const char* what, const char* array, const void* place,
                        std::size_t capacity, std::size_t wanted) {
  if (wanted > capacity) {
    return Error{Code::invalid_argument,
                 concat(what, ": capacity is ", capacity, ", of ", wanted, " in ", array)};
  }
  if (wanted != 0 && place == nullptr) return null_argument(what, array);
  return {};
}

}  // namespace
}  // namespace aqua::capi

extern "C" {

aqua_error* aqua_block_pool_create(uint32_t layers, uint32_t blocks, aqua_block_pool* pool) {
  return call([&]() -> Result<void> {
    AQUA_CAPI_NOT_NULL("aqua_block_pool_create", pool);
    AQUA_ASSIGN(auto list, BlockPool::create(layers, blocks));
    std::unique_ptr<LockedBlockPool> made(new LockedBlockPool{.lock{}, .pool = std::move(list)});
    AQUA_ASSIGN(pool->id, block_pools().insert(0, BlockPoolObject{std::move(made)}));
    return {};
  });
}

aqua_error* aqua_block_pool_free(aqua_block_pool pool) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, block_pools().end("aqua_block_pool_free", pool.id));
    return {};
  });
}

aqua_error* aqua_block_pool_get_info(aqua_block_pool pool, aqua_block_pool_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_get_info";
    AQUA_TRY(check_size(what, info));
    return use_list(what, pool, [&](const BlockPool& list) -> Result<void> {
      give_out(aqua_block_pool_info{sizeof(aqua_block_pool_info), list.layers(),
                                    list.usable_blocks(), list.target_blocks(), list.free_blocks(),
                                    list.resizing() ? 1U : 0U, list.vacated() ? 1U : 0U},
               info);
      return {};
    });
  });
}

aqua_error* aqua_block_pool_allocate(aqua_block_pool pool, uint64_t sequence, uint32_t count,
                                     uint32_t* blocks) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_allocate";
    if (count != 0) AQUA_CAPI_NOT_NULL(what, blocks);
    return use_list(what, pool, [&](BlockPool& list) -> Result<void> {
      AQUA_ASSIGN(const auto given, list.allocate(sequence, count));
      std::copy(given.begin(), given.end(), blocks);
      return {};
    });
  });
}

aqua_error* aqua_block_pool_release(aqua_block_pool pool, uint64_t sequence) {
  return call([&] {
    return use_list("aqua_block_pool_release", pool,
                    [&](BlockPool& list) { return list.release(sequence); });
  });
}

aqua_error* aqua_block_pool_get_blocks(aqua_block_pool pool, uint64_t sequence, uint32_t* blocks,
                                       size_t capacity, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_get_blocks";
    AQUA_CAPI_NOT_NULL(what, count);
    if (capacity != 0) AQUA_CAPI_NOT_NULL(what, blocks);
    return use_list(what, pool, [&](const BlockPool& list) -> Result<void> {
      write_out(list.blocks_of(sequence), blocks, capacity, count);
      return {};
    });
  });
}

aqua_error* aqua_block_pool_get_sequences(aqua_block_pool pool, uint64_t* sequences,
                                          size_t capacity, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_get_sequences";
    AQUA_CAPI_NOT_NULL(what, count);
    if (capacity != 0) AQUA_CAPI_NOT_NULL(what, sequences);
    return use_list(what, pool, [&](const BlockPool& list) -> Result<void> {
      write_out(list.sequences(), sequences, capacity, count);
      return {};
    });
  });
}

aqua_error* aqua_block_pool_resize(aqua_block_pool pool, uint32_t blocks, uint64_t* preempt,
                                   size_t capacity, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_resize";
    AQUA_CAPI_NOT_NULL(what, count);
    return change_list(what, pool, [&](BlockPool& list) -> Result<void> {
      AQUA_ASSIGN(const auto named, list.resize(blocks));
      AQUA_TRY(check_room(what, "preempt", preempt, capacity, named.size()));
      std::copy(named.begin(), named.end(), preempt);
      *count = named.size();
      return {};
    });
  });
}

aqua_error* aqua_block_pool_take_moves(aqua_block_pool pool, aqua_block_move* moves,
                                       size_t capacity, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_block_pool_take_moves";
    AQUA_CAPI_NOT_NULL(what, count);
    return change_list(what, pool, [&](BlockPool& list) -> Result<void> {
      const auto taken = list.take_moves();
      AQUA_TRY(check_room(what, "moves", moves, capacity, taken.size()));
      for (std::size_t i = 0; i < taken.size(); ++i)
        moves[i] = {taken[i].sequence, taken[i].from, taken[i].to};
      *count = taken.size();
      return {};
    });
  });
}

aqua_error* aqua_block_pool_moved(aqua_block_pool pool, uint32_t from) {
  return call([&] {
    return use_list("aqua_block_pool_moved", pool,
                    [&](BlockPool& list) { return list.moved(from); });
  });
}

aqua_error* aqua_block_pool_layer_ready(aqua_block_pool pool, uint32_t layer) {
  return call([&] {
    return change_list("aqua_block_pool_layer_ready", pool,
                       [&](BlockPool& list) { return list.layer_ready(layer); });
  });
}

}  // extern "C"
