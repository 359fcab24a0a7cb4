// SPDX-License-Identifier: Apache-2.0
// MemfdDevice's streams, events and work.
#include <array>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/memfd/device_impl.hpp"
#include "device/memfd/work.hpp"
#include "device/pieces.hpp"

namespace aqua::device {
namespace {

struct MemfdEvent final : Event {
  MemfdEvent(EventKind kind, std::shared_ptr<const Capacity> owner) noexcept
      : timed(kind == EventKind::timed), device(std::move(owner)) {}
  const bool timed;
  const std::shared_ptr<const Capacity> device;  // whose event it is
  std::shared_ptr<EventPoint> point;             // null: unrecorded
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

Result<std::unique_ptr<Event>> MemfdDevice::create_event(EventKind kind) {
  return std::unique_ptr<Event>(new MemfdEvent(kind, capacity_));
}

Result<void> MemfdDevice::record(Event& event, Stream stream) {
  auto* memfd = dynamic_cast<MemfdEvent*>(&event);
  if (memfd == nullptr || memfd->device != capacity_) return not_ours("record", "event");
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

Result<void> MemfdDevice::check_stream(Stream stream) const {
  AQUA_TRY(streams_.find("check_stream", stream));
  return Device::check_stream(stream);
}

Result<void> MemfdDevice::check_answers(const char* call) const {
  if (!silent_) return {};
  return Error{Code::unavailable, concat(options_.info.name, ": ", call, ": no answer")};
}

Result<bool> MemfdDevice::query(const Event& event) {
  AQUA_TRY(check_answers("query"));
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  if (memfd == nullptr || memfd->device != capacity_) return not_ours("query", "event");
  return memfd->point == nullptr ? Result<bool>(true) : memfd->point->query();
}

Result<void> MemfdDevice::synchronize(const Event& event) {
  AQUA_TRY(check_answers("synchronize"));
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  if (memfd == nullptr || memfd->device != capacity_) return not_ours("synchronize", "event");
  if (memfd->point == nullptr) return {};
  memfd->point->wait();
  AQUA_TRY(memfd->point->query());
  return {};
}

std::uint64_t MemfdDevice::latest_failure(const Event& event) const {
  const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
  return memfd == nullptr || memfd->point == nullptr ? 0 : memfd->point->latest_failure();
}

Result<std::chrono::nanoseconds> MemfdDevice::elapsed(const Event& start, const Event& end) {
  const std::array events{dynamic_cast<const MemfdEvent*>(&start),
                          dynamic_cast<const MemfdEvent*>(&end)};
  std::array<std::chrono::steady_clock::time_point, 2> at;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MemfdEvent* const event = events[i];
    if (event == nullptr || event->device != capacity_) return not_ours("elapsed", "event");
    AQUA_TRY(check_timed(event->timed, event->point != nullptr));
    const auto reached = event->point->reached_at();
    if (!reached) return not_reached();
    at[i] = *reached;
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at[1] - at[0]);
}

Result<void> MemfdDevice::synchronize(Stream stream) {
  AQUA_ASSIGN(const auto worker, streams_.find("synchronize", stream));
  worker->wait();
  return {};
}

Result<void> MemfdDevice::copy(CopyBatch batch, Stream stream, const CopyOptions& options) {
  AQUA_TRY(check_batch(batch));
  AQUA_TRY(check_destinations(*batch, regions_->read_only));
  AQUA_ASSIGN(const auto worker, streams_.find("copy", stream));
  AQUA_TRY(
      post("copy", *worker,
           [batch = std::move(batch), cancel = options.cancel, regions = regions_, links = links_] {
             if (cancel && cancel->load()) return true;
             return run_copy(*batch, *regions, *links);
           }));
  count(options.method);
  return {};
}

Result<void> MemfdDevice::check_writable(const std::byte* dst, std::size_t bytes) const {
  return check_destination("check_writable", dst, bytes, regions_->read_only);
}

Result<void> MemfdDevice::copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                      const CopyOptions& options) {
  AQUA_TRY(check_pieces(*table.blocks(), pieces));
  if (!regions_->read_only.empty()) {
    Result<void> writable;
    each_piece(*table.blocks(), pieces, [&](const CopySegment& s) {
      if (writable.ok()) writable = check_destination("copy", s.dst, s.bytes, regions_->read_only);
    });
    AQUA_TRY(writable);
  }
  AQUA_ASSIGN(const auto worker, streams_.find("copy", stream));
  AQUA_TRY(post("copy", *worker,
                [blocks = table.blocks(), pieces, cancel = options.cancel, regions = regions_,
                 links = links_] {
                  if (cancel && cancel->load()) return true;
                  return run_copy(*blocks, pieces, *regions, *links);
                }));
  count(options.method);
  return {};
}

// Whatever was asked for, the host copies block by block.
void MemfdDevice::count(CopyMethod asked) noexcept {
  tally_.ran(CopyMethod::each);
  if (asked == CopyMethod::kernel) tally_.passed_over(Fallback::unsupported);
  if (asked != CopyMethod::each) tally_.passed_over(Fallback::unsupported);
}

Result<void> MemfdDevice::scrub(std::byte* dst, std::size_t bytes, Stream stream) {
  AQUA_TRY(check_scrub(dst, bytes));
  AQUA_TRY(check_destination("scrub", dst, bytes, regions_->read_only));
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
