// SPDX-License-Identifier: Apache-2.0
#include "gpu/library.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "transfer/calibration/calibrate.hpp"
#include "transfer/calibration/far_memory.hpp"

namespace aqua::bench {
namespace {

using transfer::Direction;

// One transfer, prepared anew for each time that it is posted.
struct Posting {
  Layout layout;
  std::vector<std::uint32_t> blocks;
  transfer::TransferRequest request{};
  std::optional<transfer::Transfer> transfer{};
  std::string chosen{};
};

Layout layout_of(const Library::Move& move, const BlockPlaces& places) {
  LayoutSpec spec;
  spec.layers = places.layers;
  spec.planes_per_layer = 1;
  spec.block_count = places.per_layer;
  spec.block_stride = move.block_bytes;
  spec.axes = BlockAxes::whole(move.block_bytes);
  for (unsigned layer = 0; layer < places.layers; ++layer)
    spec.planes.push_back(move.pool + std::size_t{layer} * places.per_layer * move.block_bytes);
  return must(Layout::make(std::move(spec)));
}

// About as many as it queues, for the gate: commands of each part or group.
std::size_t commands(transfer::Way way, const BlockList& list) {
  const bool by_block = way == transfer::Way::each || way == transfer::Way::batched;
  return by_block ? list.segments().size()
                  : 64 + 8 * list.bytes() / transfer::StagingOptions{}.buffer_bytes;
}

aqua::Stream ours(cudaStream_t stream) {
  return {reinterpret_cast<std::uintptr_t>(stream)};
}

}  // namespace

Library::Library(device::Device& device, transfer::Link link, std::span<std::byte> far)
    : device_(device), link_(link) {
  // What is called a peer's memory lies on this GPU, behind the same cache.
  const transfer::Link behind = link == transfer::Link::host ? link : transfer::Link::local;
  const std::array memory{transfer::LinkMemory{
      .link = link,
      .base = far.data(),
      .bytes = std::min(far.size(), transfer::calibration_bytes(device, behind))}};
  transfer::MoverOptions options;
  options.curves =
      std::make_shared<const transfer::CurveSet>(must(transfer::calibrate(device, memory)));
  mover_ = std::make_shared<transfer::Mover>(device, options);
}

std::vector<CopyTask> Library::tasks(const Move& move, bool at_once) const {
  std::vector<CopyTask> all{task(move, std::nullopt)};
  for (const transfer::Way wanted : transfer::kWays) {
    const bool staged = wanted == transfer::Way::staged;
    const unsigned wants = at_once ? 2 : 1;
    if (staged && transfer::StagingOptions{}.pairs < wants) continue;
    if (wanted == transfer::Way::batched || (!staged && !has(wanted))) continue;
    all.push_back(task(move, wanted));
  }
  return all;
}

std::vector<CopyTask> Library::batched(const Move& move) const {
  if (!has(transfer::Way::batched)) return {};
  return {task(move, transfer::Way::batched)};
}

bool Library::has(transfer::Way way) const {
  return device_.supports(method_of(way), ours(stream_.get()));
}

CopyTask Library::task(const Move& move, std::optional<transfer::Way> wanted) const {
  const BlockPlaces places(move.list.bytes(), move.block_bytes);
  auto posting = std::make_shared<Posting>(Posting{layout_of(move, places), places.blocks});
  posting->request = {.layout = &posting->layout,
                      .blocks = posting->blocks,
                      .tensor = move.tensor,
                      .tensor_bytes = move.list.bytes(),
                      .direction = move.direction,
                      .link = link_,
                      .stream = ours(stream_.get()),
                      .way = wanted};
  const transfer::Way likely = mover_->choose_for(posting->request).value().way;
  return {.name = wanted ? "library " + std::string(to_string(*wanted)) : "library",
          .queue = [posting](cudaStream_t stream) { must(posting->transfer->post(ours(stream))); },
          .commands = commands(likely, move.list),
          .moves = {&move.list},
          .prepare =
              [posting, mover = mover_] {
                posting->transfer = must(mover->prepare(posting->request));
                posting->chosen = to_string(posting->transfer->way());
              },
          .finish =
              [posting] {
                must(posting->transfer->ticket().wait());
                posting->transfer.reset();
              },
          .chosen = [posting] { return posting->chosen; },
          .counts = [&device = device_] { return device.copy_counts(); }};
}

}  // namespace aqua::bench
