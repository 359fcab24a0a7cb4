// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/transfer.h"

#include <optional>

#include "capi/convert.hpp"
#include "capi/kv_range.hpp"
#include "capi/objects.hpp"
#include "capi/open_runtime.hpp"
#include "capi/post.hpp"

namespace aqua::capi {
namespace {

struct Move {
  aqua_layout layout;
  const uint32_t* blocks;
  std::size_t block_count;
  aqua_tensor tensor;
  aqua_stream stream;
  std::size_t offset = 0;
  const aqua_kv_range* range = nullptr;      // in C a NULL may say that there is none
  const aqua_tensor_pages* pages = nullptr;  // instead of the offset
};

Result<TensorPages> to_pages(const char* what, const aqua_tensor_pages* pages,
                             std::size_t block_count) {
  AQUA_ASSIGN(const auto given, take_in(what, pages));
  if (block_count != 0 && given.pages == nullptr) return null_argument(what, "pages");
  return TensorPages{given.count, BlockList(given.pages, block_count), given.offset};
}

Result<Ticket> post(const char* what, Direction direction, const Move& move, TensorObject& tensor) {
  AQUA_ASSIGN(const auto layout, layouts().use(what, move.layout.id));
  AQUA_ASSIGN(const BlockList list, to_block_list(what, *layout, move.blocks, move.block_count));
  std::optional<KvRange> range;
  if (move.range != nullptr) {
    AQUA_ASSIGN(range, to_range(what, move.range));
  }
  Runtime& runtime = *tensor.runtime;
  const Stream stream = to_stream(move.stream);
  const bool offload = direction == Direction::offload;
  if (move.pages != nullptr) {
    AQUA_ASSIGN(const auto pages, to_pages(what, move.pages, list.size()));
    const KvRange part = range.value_or(KvRange{});
    return offload ? runtime.offload(*layout, list, tensor.tensor, pages, stream, part)
                   : runtime.fetch(tensor.tensor, pages, *layout, list, stream, part);
  }
  if (range) {
    return offload ? runtime.offload(*layout, list, *range, tensor.tensor, stream, move.offset)
                   : runtime.fetch(tensor.tensor, *layout, list, *range, stream, move.offset);
  }
  return offload ? runtime.offload(*layout, list, tensor.tensor, stream, move.offset)
                 : runtime.fetch(tensor.tensor, *layout, list, stream, move.offset);
}

Result<void> start(const char* what, Direction direction, const Move& move, aqua_ticket* ticket) {
  AQUA_ASSIGN(const auto tensor, tensors().use(what, move.tensor.id));
  return post_with_ticket(what, tensor->runtime.id(), ticket,
                          [&] { return post(what, direction, move, *tensor); });
}

// Asks a ticket while its runtime, if there still is one, stays open.
template <typename Question>
Result<void> ask(const char* what, aqua_ticket ticket, Question&& question) {
  AQUA_ASSIGN(const auto asked, tickets().use(what, ticket.id));
  AQUA_ASSIGN(const auto open, keep_open(what, asked->runtime));
  return question(asked->ticket);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;
using aqua::Ticket;

extern "C" {

aqua_error* aqua_offload(aqua_layout layout, const uint32_t* blocks, size_t block_count,
                         aqua_tensor tensor, aqua_stream stream, size_t offset,
                         aqua_ticket* ticket) {
  return call([&] {
    return start("aqua_offload", Direction::offload,
                 {layout, blocks, block_count, tensor, stream, offset}, ticket);
  });
}

aqua_error* aqua_fetch(aqua_tensor tensor, aqua_layout layout, const uint32_t* blocks,
                       size_t block_count, aqua_stream stream, size_t offset, aqua_ticket* ticket) {
  return call([&] {
    return start("aqua_fetch", Direction::fetch,
                 {layout, blocks, block_count, tensor, stream, offset}, ticket);
  });
}

aqua_error* aqua_offload_range(aqua_layout layout, const uint32_t* blocks, size_t block_count,
                               const aqua_kv_range* range, aqua_tensor tensor, aqua_stream stream,
                               size_t offset, aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_offload_range";
    AQUA_CAPI_NOT_NULL(what, range);
    return start(what, Direction::offload,
                 {layout, blocks, block_count, tensor, stream, offset, range}, ticket);
  });
}

aqua_error* aqua_fetch_range(aqua_tensor tensor, aqua_layout layout, const uint32_t* blocks,
                             size_t block_count, const aqua_kv_range* range, aqua_stream stream,
                             size_t offset, aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_fetch_range";
    AQUA_CAPI_NOT_NULL(what, range);
    return start(what, Direction::fetch,
                 {layout, blocks, block_count, tensor, stream, offset, range}, ticket);
  });
}

aqua_error* aqua_offload_pages(aqua_layout layout, const uint32_t* blocks, size_t block_count,
                               const aqua_kv_range* range, aqua_tensor tensor,
                               const aqua_tensor_pages* pages, aqua_stream stream,
                               aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_offload_pages";
    AQUA_CAPI_NOT_NULL(what, pages);
    return start(what, Direction::offload,
                 {layout, blocks, block_count, tensor, stream, 0, range, pages}, ticket);
  });
}

aqua_error* aqua_fetch_pages(aqua_tensor tensor, const aqua_tensor_pages* pages, aqua_layout layout,
                             const uint32_t* blocks, size_t block_count, const aqua_kv_range* range,
                             aqua_stream stream, aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_fetch_pages";
    AQUA_CAPI_NOT_NULL(what, pages);
    return start(what, Direction::fetch,
                 {layout, blocks, block_count, tensor, stream, 0, range, pages}, ticket);
  });
}

aqua_error* aqua_ticket_done(aqua_ticket ticket, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_ticket_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return ask(what, ticket, [&](const Ticket& asked) -> Result<void> {
      AQUA_ASSIGN(const bool over, asked.done());
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_ticket_wait(aqua_ticket ticket) {
  return call(
      [&] { return ask("aqua_ticket_wait", ticket, [](Ticket& asked) { return asked.wait(); }); });
}

aqua_error* aqua_ticket_stream_wait(aqua_ticket ticket, aqua_stream stream, uint32_t layer) {
  return call([&] {
    return ask("aqua_ticket_stream_wait", ticket,
               [&](const Ticket& asked) { return asked.stream_wait(to_stream(stream), layer); });
  });
}

aqua_error* aqua_ticket_layer_done(aqua_ticket ticket, uint32_t layer, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_ticket_layer_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return ask(what, ticket, [&](const Ticket& asked) -> Result<void> {
      AQUA_ASSIGN(const bool over, asked.layer_done(layer));
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_ticket_cancel(aqua_ticket ticket) {
  return call([&] {
    return ask("aqua_ticket_cancel", ticket, [](Ticket& asked) -> Result<void> {
      asked.cancel();
      return {};
    });
  });
}

aqua_error* aqua_ticket_get_bytes(aqua_ticket ticket, size_t* bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_ticket_get_bytes";
    AQUA_CAPI_NOT_NULL(what, bytes);
    AQUA_ASSIGN(const auto asked, tickets().use(what, ticket.id));
    *bytes = asked->ticket.bytes();
    return {};
  });
}

aqua_error* aqua_ticket_free(aqua_ticket ticket) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, tickets().end("aqua_ticket_free", ticket.id));
    return {};
  });
}

}  // extern "C"
