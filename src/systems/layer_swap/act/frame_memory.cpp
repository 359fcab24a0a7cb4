// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/frame_memory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::layer_swap {
namespace {

Error bad(const std::string& what) {
  return {Code::invalid_argument, concat("layer pool: ", what)};
}

}  // namespace

Result<FrameMemory> FrameMemory::create(Runtime& runtime, const LayerPoolOptions& options) {
  if (options.layers < kLeastFrames || options.layers > kMostLayers)
    return bad(concat(options.layers, " layers, of ", kLeastFrames, " to ", kMostLayers));
  if (options.planes_per_layer == 0 || options.block_bytes == 0 || options.slab_bytes == 0 ||
      options.block_bytes > std::numeric_limits<std::size_t>::max() / options.planes_per_layer) {
    return bad(concat(options.planes_per_layer, " planes a layer, blocks of ", options.block_bytes,
                      " bytes, slabs of ", options.slab_bytes));
  }
  const FrameShape shape{options.layers, options.planes_per_layer,
                         options.device_bytes / options.slab_bytes, options.goal == "memory"};
  const std::size_t longest = shape.slabs_per_plane(kLeastFrames);
  if (longest == 0)
    return bad(concat(options.device_bytes, " bytes do not make ",
                      shape.same_blocks ? options.layers : kLeastFrames, " frames of ",
                      options.planes_per_layer, " slabs of ", options.slab_bytes));
  AQUA_ASSIGN(auto memory,
              PlaneMemory::create(runtime, {.planes = std::size_t{shape.layers} * shape.planes,
                                            .plane_bytes = longest * options.slab_bytes,
                                            .slabs = shape.slabs,
                                            .slab_bytes = options.slab_bytes}));
  return FrameMemory(options, shape, std::move(memory));
}

FrameMemory::FrameMemory(const LayerPoolOptions& options, const FrameShape& frame_shape,
                         PlaneMemory memory)
    : block_bytes_(options.block_bytes),
      slab_bytes_(options.slab_bytes),
      schedule_(options.schedule),
      by_table_(options.schedule == "fifo"),
      frame_shape_(frame_shape),
      memory_(std::move(memory)),
      planes_(options.layers) {
  for (std::size_t p = 0; p < std::size_t{frame_shape.layers} * frame_shape.planes; ++p)
    planes_[p / frame_shape.planes].push_back(memory_.plane(p));
}

std::uint32_t FrameMemory::usable_blocks(std::uint32_t frames) const noexcept {
  if (frames < kLeastFrames || frames > frame_shape_.layers) return 0;
  const std::size_t bytes = frame_shape_.slabs_per_plane(frames) * slab_bytes_;
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(bytes / block_bytes_, std::numeric_limits<std::uint32_t>::max()));
}

Result<FrameMemory::Shape> FrameMemory::shape_of(std::uint32_t frames) const {
  const auto& [layers, planes, slabs, same_blocks] = frame_shape_;
  Shape shape{.frames = frames, .blocks = usable_blocks(frames)};
  if (frames < kLeastFrames || frames > layers) {
    return bad(concat(frames, " frames of ", layers, " layers; from ", kLeastFrames,
                      " to as many as layers are possible"));
  }
  if (shape.blocks == 0) {
    return bad(concat(frames, " frames of ", slabs, " slabs of ", slab_bytes_,
                      " bytes hold no block of ", block_bytes_));
  }
  if (!by_table_) shape.plan = best_ring(layers, frames);
  AQUA_ASSIGN(shape.schedule, make_layer_schedule(schedule_, {layers, frames, shape.plan.ring}));
  shape.streamed =
      by_table_ ? std::vector<bool>(layers, frames < layers) : streamed_layers(shape.plan, layers);
  shape.places = places_of(shape);
  for (const auto& of : planes_) {
    AQUA_ASSIGN(Layout layout, Layout::make({.layers = 1,
                                             .planes_per_layer = planes,
                                             .planes = of,
                                             .block_count = shape.blocks,
                                             .block_stride = block_bytes_,
                                             .axes = BlockAxes::whole(block_bytes_)}));
    shape.layouts.push_back(std::move(layout));
  }
  return shape;
}

// Frames that have addresses of their own have those of as many first layers, and are laid out as
// layers that stay.
PlaneMemory::Places FrameMemory::places_of(const Shape& shape) const {
  FrameShape laid_out = frame_shape_;
  PlaneMemory::Places now = shape_.places;
  if (by_table_) {
    laid_out.layers = shape.frames;
    if (!now.empty()) now.resize(std::size_t{shape.frames} * laid_out.planes);
  }
  auto places = place_frames(laid_out, now, shape_.plan, shape.plan,
                             frame_shape_.slabs_per_plane(shape.frames), memory_.lent());
  places.resize(planes_.size() * frame_shape_.planes);
  return places;
}

std::span<std::byte* const> FrameMemory::planes(std::uint32_t layer) const {
  const auto& own = planes_.at(layer);
  if (!by_table_) return own;
  const auto frame = shape_.schedule->frame_of(layer);
  return frame ? std::span<std::byte* const>(planes_[*frame]) : std::span<std::byte* const>();
}

Result<std::vector<bool>> FrameMemory::check(const char* call, const char* list,
                                             BlockList blocks) const {
  std::vector<bool> listed(shape_.blocks);
  for (const std::uint32_t block : blocks) {
    if (block >= shape_.blocks || listed[block]) {
      return Error{Code::invalid_argument,
                   concat(call, ": block ", block, " of ", list,
                          block >= shape_.blocks ? concat(", where ", shape_.blocks, " are usable")
                                                 : std::string(" is listed twice"))};
    }
    listed[block] = true;
  }
  return listed;
}

std::size_t FrameMemory::slabs_missing(std::uint32_t frames) const {
  if (!frame_shape_.same_blocks || frames > frame_shape_.layers) return 0;
  const auto lent = memory_.lent();
  const auto here = static_cast<std::size_t>(std::count(lent.begin(), lent.end(), false));
  const std::size_t needed = frame_shape_.slabs_of(frames);
  return needed > here ? needed - here : 0;
}

// Nothing can be refused: these slabs are in no plane and not lent.
void FrameMemory::lend_unused() {
  if (!frame_shape_.same_blocks) return;
  std::vector<bool> kept = memory_.lent();
  for (const auto& plane : shape_.places) {
    for (const std::uint32_t slab : plane) kept[slab] = true;
  }
  std::vector<std::uint32_t> unused;
  for (std::uint32_t slab = 0; slab < kept.size(); ++slab) {
    if (!kept[slab]) unused.push_back(slab);
  }
  (void)memory_.lend(unused);
}

}  // namespace aqua::layer_swap
