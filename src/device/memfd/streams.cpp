// SPDX-License-Identifier: Apache-2.0
// MemfdDevice's streams, events and work.
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/memfd/device_impl.hpp"
#include "device/memfd/work.hpp"

namespace aqua::device {
namespace {

struct MemfdEvent final : Event {
  std::shared_ptr<EventPoint> point;  // null: unrecorded
};

Result<void> post(const char* what, StreamWorker& worker, StreamWorker::Work work) {
  if (worker.post(std::move(work))) return {};
  return Error{Code::invalid_argument, concat(what, ": the stream is being destroyed")};
}

}  // namespace

Result<Stream> MemfdDevice::create_stream() {
  return streams_.create();
}
Result<void> MemfdDevice::destroy_stream(Stream stream) {
  return streams_.destroy(stream);
}

Result<std::unique_ptr<Event>> MemfdDevice::create_event() {
  return std::unique_ptr<Event>(new MemfdEvent);
}

Result<void> MemfdDevice::record(Event& event, Stream stream) {
  auto* memfd = dynamic_cast<MemfdEvent*>(&event);
  if (memfd == nullptr) return not_ours("record", "event");
  AQUA_ASSIGN(const auto worker, streams_.find("record", stream));
  auto point = std::make_shared<EventPoint>(worker->failures());
  AQUA_TRY(post("record", *worker, [point] {
    point->reach();
    return true;
  }));
  memfd->point = std::move(point);
  return {};
}

Result<void> MemfdDevice::wait_event(Stream stream, const Event& event) {
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  if (memfd == nullptr) return not_ours("wait_event", "event");
  AQUA_ASSIGN(const auto worker, streams_.find("wait_event", stream));
  if (memfd->point == nullptr) return {};
  return post("wait_event", *worker, [point = memfd->point] {
    point->wait();
    return true;
  });
}

Result<bool> MemfdDevice::query(const Event& event) {
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  if (memfd == nullptr) return not_ours("query", "event");
  return memfd->point == nullptr ? Result<bool>(true) : memfd->point->query();
}

Result<void> MemfdDevice::synchronize(const Event& event) {
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  if (memfd == nullptr) return not_ours("synchronize", "event");
  if (memfd->point == nullptr) return {};
  memfd->point->wait();
  AQUA_TRY(memfd->point->query());
  return {};
}

Result<void> MemfdDevice::synchronize(Stream stream) {
  AQUA_ASSIGN(const auto worker, streams_.find("synchronize", stream));
  worker->wait();
  return {};
}

Result<void> MemfdDevice::copy(CopyBatch batch, Stream stream, const CopyOptions& options) {
  AQUA_TRY(check_batch(batch));
  AQUA_ASSIGN(const auto worker, streams_.find("copy", stream));
  return post("copy", *worker,
              [batch = std::move(batch), cancel = options.cancel, regions = regions_,
               rate = options_.link_bytes_per_second] {
                if (cancel && cancel->load()) return true;
                return run_copy(*batch, *regions, rate);
              });
}

Result<void> MemfdDevice::copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                      const CopyOptions& options) {
  AQUA_TRY(check_pieces(*table.blocks(), pieces));
  AQUA_ASSIGN(const auto worker, streams_.find("copy", stream));
  return post("copy", *worker,
              [blocks = table.blocks(), pieces, cancel = options.cancel, regions = regions_,
               rate = options_.link_bytes_per_second] {
                if (cancel && cancel->load()) return true;
                return run_copy(*blocks, pieces, *regions, rate);
              });
}

Result<void> MemfdDevice::scrub(std::byte* dst, std::size_t bytes, Stream stream) {
  AQUA_TRY(check_scrub(dst, bytes));
  AQUA_ASSIGN(const auto worker, streams_.find("scrub", stream));
  return post("scrub", *worker,
              [dst, bytes, regions = regions_] { return run_scrub(dst, bytes, *regions); });
}

Result<void> MemfdDevice::launch(Stream stream, std::function<void()> kernel) {
  if (!kernel) return Error{Code::invalid_argument, "launch: no kernel"};
  AQUA_ASSIGN(const auto worker, streams_.find("launch", stream));
  return post("launch", *worker, [kernel = std::move(kernel)] {
    kernel();
    return true;
  });
}

}  // namespace aqua::device
