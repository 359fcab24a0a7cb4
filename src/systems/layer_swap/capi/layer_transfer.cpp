// SPDX-License-Identifier: Apache-2.0
// A layer pool's blocks to tensors and back.
#include "capi/convert.hpp"
#include "capi/open_runtime.hpp"
#include "systems/layer_swap/capi/block_list.hpp"
#include "systems/layer_swap/capi/objects.hpp"

namespace aqua::capi {
namespace {

enum class Direction : std::uint8_t { offload, fetch };

struct Copy {
  const uint32_t* blocks;
  std::size_t block_count;
  aqua_tensor tensor;
  aqua_stream stream;
  std::size_t offset;
};

Result<LayerTransfer> post(const char* what, Direction direction, const Copy& copy,
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

Result<void> start(const char* what, Direction direction, const Copy& copy, LayerPoolObject& object,
                   aqua_layer_transfer* transfer) {
  if (transfer == nullptr) {
    AQUA_TRY(post(what, direction, copy, object));
    return {};
  }
  // The handle first: once work is queued nothing may fail any more.
  const std::uint64_t runtime = object.runtime.id();
  AQUA_ASSIGN(const std::uint64_t id,
              layer_transfers().insert(runtime, LayerTransferObject{runtime, {}}));
  const auto end = [&] { (void)layer_transfers().end(what, id); };
  try {
    AQUA_ASSIGN(const auto made, layer_transfers().use(what, id));
    auto posted = post(what, direction, copy, object);
    if (!posted.ok()) {
      end();
      return std::move(posted).error();
    }
    made->transfer = std::move(posted).value();
    transfer->id = id;
    return {};
  } catch (...) {
    end();
    throw;
  }
}

// Asks a transfer while its runtime, if there still is one, stays open.
template <typename Question>
Result<void> ask(const char* what, aqua_layer_transfer transfer, Question&& question) {
  AQUA_ASSIGN(const auto asked, layer_transfers().use(what, transfer.id));
  AQUA_ASSIGN(const auto open, keep_open(what, asked->runtime));
  return question(asked->transfer);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::LayerTransfer;
using aqua::Result;

extern "C" {

aqua_error* aqua_layer_pool_offload(aqua_layer_pool pool, const uint32_t* blocks,
                                    size_t block_count, aqua_tensor tensor, aqua_stream stream,
                                    size_t offset, aqua_layer_transfer* transfer) {
  return call([&] {
    constexpr const char* what = "aqua_layer_pool_offload";
    return use_pool(what, pool, Does::copy, [&](LayerPoolObject& of) {
      return start(what, Direction::offload, {blocks, block_count, tensor, stream, offset}, of,
                   transfer);
    });
  });
}

aqua_error* aqua_layer_pool_fetch(aqua_layer_pool pool, aqua_tensor tensor, const uint32_t* blocks,
                                  size_t block_count, aqua_stream stream, size_t offset,
                                  aqua_layer_transfer* transfer) {
  return call([&] {
    constexpr const char* what = "aqua_layer_pool_fetch";
    return use_pool(what, pool, Does::copy, [&](LayerPoolObject& of) {
      return start(what, Direction::fetch, {blocks, block_count, tensor, stream, offset}, of,
                   transfer);
    });
  });
}

aqua_error* aqua_layer_transfer_done(aqua_layer_transfer transfer, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layer_transfer_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return ask(what, transfer, [&](const LayerTransfer& asked) -> Result<void> {
      AQUA_ASSIGN(const bool over, asked.done());
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_layer_transfer_wait(aqua_layer_transfer transfer) {
  return call([&] {
    return ask("aqua_layer_transfer_wait", transfer,
               [](LayerTransfer& asked) { return asked.wait(); });
  });
}

aqua_error* aqua_layer_transfer_free(aqua_layer_transfer transfer) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, layer_transfers().end("aqua_layer_transfer_free", transfer.id));
    return {};
  });
}

}  // extern "C"
