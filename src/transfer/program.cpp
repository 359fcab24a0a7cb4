// SPDX-License-Identifier: Apache-2.0
#include "transfer/program.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/try.hpp"
#include "layout/block_runs.hpp"
#include "transfer/plan.hpp"

namespace aqua::transfer {
namespace {

using device::Event;

// The layers of group g when `layers` are dealt into `groups` as evenly as can be.
unsigned end_layer(const ProgramInput& in, unsigned g) {
  return static_cast<unsigned>(std::uint64_t{in.layers} * (g + 1) / in.groups);
}
std::size_t packed_end(const ProgramInput& in, unsigned g) {
  return in.bytes / in.layers * end_layer(in, g);
}

// The copies between the cache and slices of the packed form.
class CacheSide {
 public:
  explicit CacheSide(const ProgramInput& in) : in_(in) {
    if (in.named == nullptr) runs_.emplace(in.layout, in.blocks);
  }
  // A step for the slice [begin, end), whose first byte lies at `address`. By blocks it is whole
  // pieces.
  [[nodiscard]] Step slice(std::size_t begin, std::size_t end, std::byte* address) const {
    Step step{.lane = Lane::caller, .method = in_.method};
    if (in_.named != nullptr) {
      const std::size_t piece = in_.named->piece_bytes;
      step.kind = Step::Kind::copy_blocks;
      step.pieces = {begin / piece, (end - begin) / piece, address};
      return step;
    }
    auto copies = in_.lists.take();
    plan({in_.layout, *runs_, begin, end, address}, in_.direction, in_.max_copy_bytes, copies);
    step.batch = in_.lists.share(std::move(copies));
    return step;
  }

 private:
  const ProgramInput& in_;
  std::optional<layout::BlockRuns> runs_;
};

class Builder {
 public:
  explicit Builder(const ProgramInput& in) : events_(in.events) {
    program_.cancel = std::make_shared<std::atomic<bool>>(false);
    if (in.bytes != 0) program_.blocks = in.named;
  }
  [[nodiscard]] Result<Event*> event() {
    AQUA_ASSIGN(auto fresh, events_.take());
    program_.events.push_back(std::move(fresh));
    return program_.events.back().get();
  }
  void copy(Step step, device::CopyPath path) {
    step.path = path;
    program_.steps.push_back(std::move(step));
  }
  void record(Lane lane, Event* event) {
    program_.steps.push_back({.kind = Step::Kind::record, .lane = lane, .event = event});
  }
  void wait(Lane lane, Event* event) {
    program_.steps.push_back({.kind = Step::Kind::wait, .lane = lane, .event = event});
  }
  // The group's layers have arrived once the lanes reach here.
  [[nodiscard]] Result<void> arrived(unsigned end_layer, bool both_lanes) {
    LayerGroup group{end_layer, {}};
    AQUA_ASSIGN(group.arrived[0], event());
    record(Lane::caller, group.arrived[0]);
    if (both_lanes) {
      AQUA_ASSIGN(group.arrived[1], event());
      record(Lane::side, group.arrived[1]);
    }
    program_.groups.push_back(group);
    return {};
  }
  // The side lane's event in the group reported last; null where that group used one lane.
  [[nodiscard]] Event* last_arrived() const { return program_.groups.back().arrived[1]; }
  [[nodiscard]] Program take() { return std::move(program_); }

 private:
  EventPool& events_;
  Program program_;
};

// Bytes that go through a buffer at a time: an eighth of all or less, so that filling the
// first and draining the last, which overlap with nothing, are a small part; not so little
// that the steps' own cost shows.
std::size_t part_bytes(const ProgramInput& in, const StagingPair& pair) {
  constexpr std::size_t kLeast = std::size_t{1} << 20;
  const std::size_t most = std::min(std::max(in.bytes / 8, kLeast), pair.buffer_bytes);
  if (in.named == nullptr) return most;
  const std::size_t piece = in.named->piece_bytes;
  return std::max(most / piece, std::size_t{1}) * piece;
}

}  // namespace

Result<Program> build_direct(const ProgramInput& in) {
  Builder build(in);
  const CacheSide cache(in);
  std::size_t begin = 0;
  for (unsigned g = 0; g < in.groups && in.bytes != 0; ++g) {
    const std::size_t end = packed_end(in, g);
    build.copy(cache.slice(begin, end, in.packed + begin), in.path);
    AQUA_TRY(build.arrived(end_layer(in, g), false));
    begin = end;
  }
  return build.take();
}

// One lane fills a buffer while the other drains the buffer before. For an offload the
// caller's lane gathers and the side lane copies out in bulk; for a fetch the other way
// round. A buffer is filled again only after the event that says it was drained.
Result<Program> build_staged(const ProgramInput& in, const StagingPair& pair) {
  Builder build(in);
  if (in.bytes == 0) return build.take();
  const CacheSide cache(in);
  const bool offload = in.direction == Direction::offload;
  const Lane fill = offload ? Lane::caller : Lane::side;
  const Lane drain = offload ? Lane::side : Lane::caller;
  constexpr auto within = device::CopyPath::within_device;
  AQUA_ASSIGN(Event* const entry, build.event());
  build.record(Lane::caller, entry);
  build.wait(Lane::side, entry);
  build.wait(fill, pair.ready.get());

  std::array<Event*, 2> filled{};
  std::array<Event*, 2> drained{};
  for (std::size_t b = 0; b < 2; ++b) {
    AQUA_ASSIGN(filled[b], build.event());
    AQUA_ASSIGN(drained[b], build.event());
  }
  const std::size_t most = part_bytes(in, pair);
  std::size_t part = 0;
  std::size_t begin = 0;
  for (unsigned g = 0; g < in.groups; ++g) {
    for (const std::size_t group_end = packed_end(in, g); begin < group_end; ++part) {
      const std::size_t b = part % 2;
      const std::size_t end = std::min(group_end, begin + most);
      std::byte* const buffer = pair.buffers[b];
      std::byte* const packed = in.packed + begin;
      Step cache_side = cache.slice(begin, end, buffer);
      Step tensor_side{.lane = Lane::side};
      tensor_side.batch = std::make_shared<const std::vector<device::CopySegment>>(plan_bulk(
          offload ? packed : buffer, offload ? buffer : packed, end - begin, in.max_copy_bytes));
      if (part >= 2) build.wait(fill, drained[b]);
      build.copy(std::move(offload ? cache_side : tensor_side), offload ? within : in.path);
      build.record(fill, filled[b]);
      build.wait(drain, filled[b]);
      build.copy(std::move(offload ? tensor_side : cache_side), offload ? in.path : within);
      build.record(drain, drained[b]);
      begin = end;
    }
    AQUA_TRY(build.arrived(end_layer(in, g), true));
  }
  // Later work on the caller's stream sees the tensor filled (and may reuse or unpin it), and its
  // end is the end of both lanes.
  if (offload) build.wait(Lane::caller, build.last_arrived());
  return build.take();
}

Result<void> run(device::Device& device, const Program& program, Stream caller, Stream side,
                 unsigned max_sms) {
  for (const Step& step : program.steps) {
    const Stream stream = step.lane == Lane::caller ? caller : side;
    const device::CopyOptions options{
        .method = step.method, .max_sms = max_sms, .path = step.path, .cancel = program.cancel};
    switch (step.kind) {
      case Step::Kind::copy:
        AQUA_TRY(device.copy(step.batch, stream, options));
        break;
      case Step::Kind::copy_blocks:
        AQUA_TRY(device.copy_blocks(*program.table, step.pieces, stream, options));
        break;
      case Step::Kind::record:
        AQUA_TRY(device.record(*step.event, stream));
        break;
      case Step::Kind::wait:
        AQUA_TRY(device.wait_event(stream, *step.event));
        break;
    }
  }
  return {};
}

}  // namespace aqua::transfer
