// SPDX-License-Identifier: Apache-2.0
// LayerPool's frames: how they are laid out, and how their number changes between steps.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/act/layer_pool_impl.hpp"

namespace aqua {

using layer_swap::kLeastFrames;

namespace {

Error bad(const std::string& what) {
  return {Code::invalid_argument, concat("layer pool: ", what)};
}

}  // namespace

std::vector<std::uint32_t> LayerPool::Impl::first_blocks(std::uint32_t count) {
  std::vector<std::uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0U);
  return blocks;
}

Result<std::unique_ptr<LayerPool::Impl>> LayerPool::Impl::create(Runtime& runtime,
                                                                 const LayerPoolOptions& wanted) {
  LayerPoolOptions options = wanted;
  if (options.frames == 0) options.frames = options.layers;
  if (options.schedule != "fixed")
    return bad(concat("no schedule \"", options.schedule, "\"; there is fixed"));
  if (!options.goal.empty() && options.goal != "capacity" && options.goal != "memory")
    return bad(concat("no goal \"", options.goal, "\"; there are capacity and memory"));
  if (!options.goal.empty() && options.frames != options.layers)
    return bad(concat(options.frames, " frames at first, of ", options.layers,
                      " layers; with a goal there are as many as layers"));
  if (options.layers < kLeastFrames || options.layers > layer_swap::kMostLayers)
    return bad(
        concat(options.layers, " layers, of ", kLeastFrames, " to ", layer_swap::kMostLayers));
  if (options.planes_per_layer == 0 || options.block_bytes == 0 || options.slab_bytes == 0 ||
      options.block_bytes > std::numeric_limits<std::size_t>::max() / options.planes_per_layer) {
    return bad(concat(options.planes_per_layer, " planes a layer, blocks of ", options.block_bytes,
                      " bytes, slabs of ", options.slab_bytes));
  }
  const layer_swap::FrameShape shape{options.layers, options.planes_per_layer,
                                     options.device_bytes / options.slab_bytes,
                                     options.goal == "memory"};
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
  AQUA_ASSIGN(auto others, SideStream::create(runtime));
  AQUA_ASSIGN(auto in, SideStream::create(runtime));
  AQUA_ASSIGN(auto out, SideStream::create(runtime));
  std::unique_ptr<Impl> impl(new Impl(detail::Internals::view(runtime), options, shape,
                                      std::move(memory), std::move(others), std::move(in),
                                      std::move(out)));
  AQUA_ASSIGN(Shape first, impl->shape_of(options.frames));
  AQUA_TRY(impl->away_.extend(streamed_layers(first.plan, options.layers), first.blocks));
  AQUA_TRY(impl->memory_.map(first.places));
  impl->take(std::move(first));
  if (!options.goal.empty()) AQUA_TRY(impl->make_expansion());
  return impl;
}

LayerPool::Impl::Impl(Runtime runtime, const LayerPoolOptions& options,
                      const layer_swap::FrameShape& frame_shape, PlaneMemory memory,
                      SideStream others, SideStream in, SideStream out)
    : runtime_(std::move(runtime)),
      options_(options),
      frame_shape_(frame_shape),
      memory_(std::move(memory)),
      planes_(options.layers),
      away_(detail::Internals::view(runtime_), options.layers, options.planes_per_layer,
            options.block_bytes, options.name),
      fetches_(options.layers),
      meter_(detail::Internals::view(runtime_)),
      others_(std::move(others)),
      in_(std::move(in)),
      out_(std::move(out)) {
  for (std::size_t p = 0; p < std::size_t{options.layers} * options.planes_per_layer; ++p) {
    planes_[p / options.planes_per_layer].push_back(memory_.plane(p));
  }
}

std::uint32_t LayerPool::Impl::usable_blocks(std::uint32_t frames) const noexcept {
  if (frames < kLeastFrames || frames > options_.layers) return 0;
  const std::size_t bytes = frame_shape_.slabs_per_plane(frames) * options_.slab_bytes;
  return static_cast<std::uint32_t>(std::min<std::size_t>(
      bytes / options_.block_bytes, std::numeric_limits<std::uint32_t>::max()));
}

Result<LayerPool::Impl::Shape> LayerPool::Impl::shape_of(std::uint32_t frames) const {
  Shape shape{.frames = frames, .blocks = usable_blocks(frames)};
  if (frames < kLeastFrames || frames > options_.layers) {
    return bad(concat(frames, " frames of ", options_.layers, " layers; from ", kLeastFrames,
                      " to as many as layers are possible"));
  }
  if (shape.blocks == 0) {
    return bad(concat(frames, " frames of ", frame_shape_.slabs, " slabs of ", options_.slab_bytes,
                      " bytes hold no block of ", options_.block_bytes));
  }
  shape.plan = layer_swap::best_ring(options_.layers, frames);
  AQUA_ASSIGN(shape.schedule, layer_swap::make_layer_schedule(
                                  options_.schedule, {options_.layers, frames, shape.plan.ring}));
  shape.places = place_frames(frame_shape_, places_, plan_, shape.plan,
                              frame_shape_.slabs_per_plane(frames), memory_.lent());
  for (const auto& planes : planes_) {
    AQUA_ASSIGN(Layout layout, Layout::make({.layers = 1,
                                             .planes_per_layer = options_.planes_per_layer,
                                             .planes = planes,
                                             .block_count = shape.blocks,
                                             .block_stride = options_.block_bytes,
                                             .segment_bytes = options_.block_bytes}));
    shape.layouts.push_back(std::move(layout));
  }
  return shape;
}

void LayerPool::Impl::take(Shape shape) {
  frames_ = shape.frames;
  blocks_ = shape.blocks;
  plan_ = std::move(shape.plan);
  streamed_ = streamed_layers(plan_, options_.layers);
  schedule_ = std::move(shape.schedule);
  places_ = std::move(shape.places);
  layouts_ = std::move(shape.layouts);
  held_.assign(blocks_, false);
  meter_.clear();
  laid_out_ = true;
  for (auto& tickets : fetches_) tickets.clear();
  leaving_.assign(plan_.ring, {});
  slot_of_.assign(options_.layers, 0);
  for (std::size_t j = 0; j < plan_.streamed.size(); ++j)
    slot_of_[plan_.streamed[j]] = plan_.slot[j];
}

// Waits for all copies, and for the kernels and the engine's copies that they were put in order
// with.
Result<void> LayerPool::Impl::settle() {
  AQUA_TRY(others_.wait());
  AQUA_TRY(out_.wait());
  return in_.wait();
}

// Copies what layers that stay no longer keep, before their frames are taken away.
Result<void> LayerPool::Impl::send_away(const Shape& next, std::uint32_t kept) {
  const auto blocks = first_blocks(kept);
  const auto split = away_.split(blocks);
  layer_swap::Tickets tickets;
  for (const auto layer : next.plan.streamed) {
    if (!streamed_[layer])
      AQUA_TRY(away_.offload(layer, layouts_[layer], split, out_.stream(), tickets));
  }
  for (const auto& ticket : tickets) AQUA_TRY(ticket->wait());
  return {};
}

// Copies into the frames of layers that stay now what was away.
Result<void> LayerPool::Impl::bring_home(const std::vector<bool>& were_away, std::uint32_t kept) {
  const auto blocks = first_blocks(kept);
  const auto split = away_.split(blocks);
  layer_swap::Tickets tickets;
  for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
    if (!were_away[layer] || streamed_[layer]) continue;
    const auto posted = away_.fetch(layer, layouts_[layer], split, in_.stream(), tickets);
    if (!posted.ok()) return lose(concat("layer ", layer), posted.error());
  }
  for (const auto& ticket : tickets) {
    if (const auto waited = ticket->wait(); !waited.ok()) return lose("resize", waited.error());
  }
  return {};
}

Result<void> LayerPool::Impl::resize(std::uint32_t frames) {
  if (step_) {
    return Error{Code::failed_precondition, concat("resize: step ", steps_ + 1, " has not ended")};
  }
  AQUA_TRY(check_sound());
  if (change_) {
    return Error{Code::failed_precondition,
                 concat("resize: a change to ", change_->frames, " frames is under way; complete ",
                        "it with its list of blocks, or discard()")};
  }
  return change_frames(frames);
}

Result<void> LayerPool::Impl::change_frames(std::uint32_t frames) {
  if (frames == frames_) return {};
  if (const std::size_t away = slabs_missing(frames); away != 0) {
    return Error{Code::unavailable, concat("resize: ", frames, " frames need ", away,
                                           " slabs that are lent; reclaim() them first")};
  }
  AQUA_ASSIGN(Shape next, shape_of(frames));
  const std::uint32_t kept = std::min(blocks_, next.blocks);
  const std::vector<bool> before = streamed_;
  const auto after = streamed_layers(next.plan, options_.layers);
  const auto change = [&]() -> Result<void> {
    AQUA_TRY(away_.extend(after, next.blocks));
    AQUA_TRY(settle());
    AQUA_TRY(check_sound());
    AQUA_TRY(send_away(next, kept));
    auto mapped = memory_.map(next.places);
    if (!mapped.ok() && mapped.error().code == Code::data_loss)
      return lose("frames", mapped.error());
    return mapped;
  };
  if (auto changed = change(); !changed.ok()) {
    if (!change_) away_.trim(before, blocks_);
    return changed;
  }
  take(std::move(next));
  ++resizes_;
  if (expansion_) (void)expansion_->applied(frames_);  // refuses what shape_of() has refused
  auto home = bring_home(before, kept);
  away_.trim(after, blocks_);
  if (home.ok() && frame_shape_.same_blocks) lend_unused();
  reclaim_.reset();
  return home;
}

std::size_t LayerPool::Impl::slabs_missing(std::uint32_t frames) const {
  if (!frame_shape_.same_blocks || frames > options_.layers) return 0;
  const auto lent = memory_.lent();
  const auto here = static_cast<std::size_t>(std::count(lent.begin(), lent.end(), false));
  const std::size_t needed = frame_shape_.slabs_of(frames);
  return needed > here ? needed - here : 0;
}

// Lends what no frame has. Nothing can be refused: these slabs are in no plane and not lent.
void LayerPool::Impl::lend_unused() {
  std::vector<bool> kept = memory_.lent();
  for (const auto& plane : places_) {
    for (const std::uint32_t slab : plane) kept[slab] = true;
  }
  std::vector<std::uint32_t> unused;
  for (std::uint32_t slab = 0; slab < kept.size(); ++slab) {
    if (!kept[slab]) unused.push_back(slab);
  }
  (void)memory_.lend(unused);
}

Result<void> LayerPool::Impl::discard() {
  if (step_) AQUA_TRY(out_.run_after(step_->stream));
  AQUA_TRY(settle());
  AQUA_TRY(memory_.map(places_));  // refuses where nobody can say what is mapped
  lost_ = Error{Code::data_loss, "layer pool: a discard() has not ended well; call it again"};
  away_.trim(std::vector<bool>(options_.layers), 0);
  AQUA_ASSIGN(Shape same, shape_of(frames_));
  same.places = places_;
  AQUA_TRY(away_.extend(streamed_layers(same.plan, options_.layers), same.blocks));
  take(std::move(same));
  step_.reset();
  change_.reset();
  past_.clear();
  discarded_ = steps_done_ = steps_;
  lost_.reset();
  if (frame_shape_.same_blocks) lend_unused();  // what a change was to lend that did not end
  return {};
}

}  // namespace aqua
