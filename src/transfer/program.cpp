// SPDX-License-Identifier: Apache-2.0
#include "transfer/program.hpp"

#include <algorithm>
#include <utility>

#include "base/try.hpp"

namespace aqua::transfer {
namespace {

using device::CopyBatch;
using device::CopyMethod;
using device::Event;

class Builder {
 public:
  explicit Builder(device::Device& device) : device_(device) {
    program_.cancel = std::make_shared<std::atomic<bool>>(false);
  }
  [[nodiscard]] Result<Event*> event() {
    AQUA_ASSIGN(auto fresh, device_.create_event());
    program_.events.push_back(std::move(fresh));
    return program_.events.back().get();
  }
  void copy(Lane lane, CopyBatch batch, CopyMethod method, bool within_device) {
    program_.steps.push_back(
        {Step::Kind::copy, lane, nullptr, std::move(batch), method, within_device});
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
  // Of the side lane, in the group reported last.
  [[nodiscard]] Event* last_arrived() const { return program_.groups.back().arrived[1]; }
  [[nodiscard]] Program take() { return std::move(program_); }

 private:
  device::Device& device_;
  Program program_;
};

// The layers of group g when `layers` are dealt into `groups` as evenly as can be.
unsigned end_layer(const ProgramInput& in, unsigned g) {
  return static_cast<unsigned>(std::uint64_t{in.layout.layers()} * (g + 1) / in.groups);
}
std::size_t packed_end(const ProgramInput& in, unsigned g) {
  return in.layout.packed_offset(end_layer(in, g), 0, 0, in.runs.blocks());
}

CopyBatch plan_batch(const ProgramInput& in, std::size_t begin, std::size_t end,
                     std::byte* address) {
  auto copies = in.lists.take();
  plan({in.layout, in.runs, begin, end, address}, in.direction, in.max_copy_bytes, copies);
  return in.lists.share(std::move(copies));
}

// Bytes that go through a buffer at a time: an eighth of all or less, so that filling the
// first and draining the last, which overlap with nothing, are a small part; not so little
// that the steps' own cost shows.
std::size_t part_bytes(const ProgramInput& in, const StagingPair& pair) {
  constexpr std::size_t kLeast = std::size_t{1} << 20;
  const std::size_t eighth = in.layout.packed_bytes(in.runs.blocks()) / 8;
  return std::min(std::max(eighth, kLeast), pair.buffer_bytes);
}

}  // namespace

Result<Program> build_direct(device::Device& device, const ProgramInput& in) {
  Builder build(device);
  std::size_t begin = 0;
  for (unsigned g = 0; g < in.groups && !in.runs.empty(); ++g) {
    const std::size_t end = packed_end(in, g);
    build.copy(Lane::caller, plan_batch(in, begin, end, in.packed + begin), in.method,
               in.within_device);
    AQUA_TRY(build.arrived(end_layer(in, g), false));
    begin = end;
  }
  return build.take();
}

// One lane fills a buffer while the other drains the buffer before. For an offload the
// caller's lane gathers and the side lane copies out in bulk; for a fetch the other way
// round. A buffer is filled again only after the event that says it was drained.
Result<Program> build_staged(device::Device& device, const ProgramInput& in,
                             const StagingPair& pair) {
  Builder build(device);
  if (in.runs.empty()) return build.take();
  const bool offload = in.direction == Direction::offload;
  constexpr CopyMethod bulk = CopyMethod::each;
  const Lane fill = offload ? Lane::caller : Lane::side;
  const Lane drain = offload ? Lane::side : Lane::caller;
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
      const CopyBatch cache_side = plan_batch(in, begin, end, buffer);
      const auto tensor_side = std::make_shared<const std::vector<device::CopySegment>>(plan_bulk(
          offload ? packed : buffer, offload ? buffer : packed, end - begin, in.max_copy_bytes));
      if (part >= 2) build.wait(fill, drained[b]);
      build.copy(fill, offload ? cache_side : tensor_side, offload ? in.method : bulk, offload);
      build.record(fill, filled[b]);
      build.wait(drain, filled[b]);
      build.copy(drain, offload ? tensor_side : cache_side, offload ? bulk : in.method, !offload);
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
    switch (step.kind) {
      case Step::Kind::copy:
        AQUA_TRY(device.copy(step.batch, stream,
                             {.method = step.method,
                              .max_sms = max_sms,
                              .within_device = step.within_device,
                              .cancel = program.cancel}));
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
