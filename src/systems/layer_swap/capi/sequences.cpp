// SPDX-License-Identifier: Apache-2.0
// A layer pool's blocks to tensors and back.
#include "capi/convert.hpp"
#include "capi/post.hpp"
#include "systems/layer_swap/capi/block_list.hpp"
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

struct Copy {
  const uint32_t* blocks;
  std::size_t block_count;
  aqua_tensor tensor;
  aqua_stream stream;
  std::size_t offset;
};

Result<Ticket> post(const char* what, Direction direction, const Copy& copy,
                    LayerPoolObject& object) {
  AQUA_ASSIGN(const auto tensor, tensors().use(what, copy.tensor.id));
  if (tensor->runtime.id() != object.runtime.id()) {
    return Error{Code::invalid_argument, concat(what, ": the tensor is of another runtime")};
  }
  LayerPool& pool = *object.locked->pool;
  AQUA_ASSIGN(const auto list, to_list(what, "blocks", pool, copy.blocks, copy.block_count));
  const Stream stream = to_stream(copy.stream);
  return direction == Direction::offload ? pool.offload(list, tensor->tensor, stream, copy.offset)
                                         : pool.fetch(tensor->tensor, list, stream, copy.offset);
}

Result<void> start(const char* what, aqua_layer_pool pool, Direction direction, const Copy& copy,
                   aqua_ticket* ticket) {
  return use_pool(what, pool, Does::copy, [&](LayerPoolObject& of) {
    return post_with_ticket(what, of.runtime.id(), ticket,
                            [&] { return post(what, direction, copy, of); });
  });
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;

extern "C" {

aqua_error* aqua_layer_pool_offload(aqua_layer_pool pool, const uint32_t* blocks,
                                    size_t block_count, aqua_tensor tensor, aqua_stream stream,
                                    size_t offset, aqua_ticket* ticket) {
  return call([&] {
    return start("aqua_layer_pool_offload", pool, Direction::offload,
                 {blocks, block_count, tensor, stream, offset}, ticket);
  });
}

aqua_error* aqua_layer_pool_fetch(aqua_layer_pool pool, aqua_tensor tensor, const uint32_t* blocks,
                                  size_t block_count, aqua_stream stream, size_t offset,
                                  aqua_ticket* ticket) {
  return call([&] {
    return start("aqua_layer_pool_fetch", pool, Direction::fetch,
                 {blocks, block_count, tensor, stream, offset}, ticket);
  });
}

}  // extern "C"
