// SPDX-License-Identifier: Apache-2.0
// A layer pool's frames: changed by hand, by what steps measure, or emptied.
#include "capi/convert.hpp"
#include "capi/stream_check.hpp"
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

// change(pool, list): whether the frames are there. The list's calls wait until it is over.
template <typename Change>
Result<void> change_with(const char* what, aqua_layer_pool pool, aqua_block_pool blocks,
                         aqua_stream stream, int* done, Change&& change) {
  AQUA_CAPI_NOT_NULL(what, done);
  return use_pool(what, pool, Does::change_frames, [&](LayerPoolObject& of) -> Result<void> {
    AQUA_ASSIGN(const auto list, block_pools().use(what, blocks.id));
    AQUA_TRY(check_stream(*of.runtime, of.runtime.id(), stream));
    const std::lock_guard guard(list->locked->lock);
    AQUA_ASSIGN(const bool there, change(*of.locked->pool, list->locked->pool));
    *done = there ? 1 : 0;
    return {};
  });
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::LayerPool;
using aqua::Result;
using aqua::layer_swap::BlockPool;

extern "C" {

aqua_error* aqua_layer_pool_resize(aqua_layer_pool pool, uint32_t frames) {
  return call([&] {
    return use_pool("aqua_layer_pool_resize", pool, Does::change_frames,
                    [&](LayerPoolObject& of) { return of.locked->pool->resize(frames); });
  });
}

aqua_error* aqua_layer_pool_resize_with(aqua_layer_pool pool, uint32_t frames,
                                        aqua_block_pool blocks, aqua_stream stream, int* done) {
  return call([&] {
    return change_with("aqua_layer_pool_resize_with", pool, blocks, stream, done,
                       [&](LayerPool& used, BlockPool& list) {
                         return used.resize(frames, list, to_stream(stream));
                       });
  });
}

aqua_error* aqua_layer_pool_propose(aqua_layer_pool pool, uint32_t* frames) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_pool_propose";
    AQUA_CAPI_NOT_NULL(what, frames);
    return use_pool(what, pool, Does::look, [&](LayerPoolObject& of) -> Result<void> {
      *frames = of.locked->pool->propose();
      return {};
    });
  });
}

aqua_error* aqua_layer_pool_adapt(aqua_layer_pool pool, aqua_block_pool blocks, aqua_stream stream,
                                  int* done) {
  return call([&] {
    return change_with(
        "aqua_layer_pool_adapt", pool, blocks, stream, done,
        [&](LayerPool& used, BlockPool& list) { return used.adapt(list, to_stream(stream)); });
  });
}

aqua_error* aqua_layer_pool_discard(aqua_layer_pool pool) {
  return call([&] {
    return use_pool("aqua_layer_pool_discard", pool, Does::discard,
                    [](LayerPoolObject& of) -> Result<void> {
                      AQUA_TRY(of.locked->pool->discard());
                      of.locked->interrupted = false;
                      return {};
                    });
  });
}

}  // extern "C"
