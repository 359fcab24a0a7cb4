// SPDX-License-Identifier: Apache-2.0
// LayerPool's frames: how they are laid out, and how their number changes between steps.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/act/layer_pool_impl.hpp"

namespace aqua {

using layer_swap::FrameMemory;

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
  if (options.schedule != "fixed" && options.schedule != "fifo")
    return bad(concat("no schedule \"", options.schedule, "\"; there are fixed and fifo"));
  if (options.schedule == "fifo" && !options.goal.empty())
    return bad(concat("the goal ", options.goal, " with fifo; frames are chosen for fixed only"));
  if (!options.goal.empty() && options.goal != "capacity" && options.goal != "memory")
    return bad(concat("no goal \"", options.goal, "\"; there are capacity and memory"));
  if (!options.goal.empty() && options.frames != options.layers)
    return bad(concat(options.frames, " frames at first, of ", options.layers,
                      " layers; with a goal there are as many as layers"));
  AQUA_ASSIGN(auto memory, FrameMemory::create(runtime, options));
  AQUA_ASSIGN(auto others, SideStream::create(runtime));
  AQUA_ASSIGN(auto in, SideStream::create(runtime));
  AQUA_ASSIGN(auto out, SideStream::create(runtime));
  std::unique_ptr<Impl> impl(new Impl(detail::Internals::view(runtime), options, std::move(memory),
                                      std::move(others), std::move(in), std::move(out)));
  AQUA_ASSIGN(auto first, impl->memory_.shape_of(options.frames));
  AQUA_TRY(impl->away_.extend(first.streamed, first.blocks));
  AQUA_TRY(impl->memory_.map(first));
  impl->take(std::move(first));
  if (!options.goal.empty()) AQUA_TRY(impl->make_expansion());
  return impl;
}

LayerPool::Impl::Impl(Runtime runtime, const LayerPoolOptions& options, FrameMemory memory,
                      SideStream others, SideStream in, SideStream out)
    : runtime_(std::move(runtime)),
      options_(options),
      memory_(std::move(memory)),
      away_(detail::Internals::view(runtime_), options.layers, options.planes_per_layer,
            options.block_bytes, options.name),
      steps_(detail::Internals::view(runtime_), options_, memory_, away_, in_, out_),
      others_(std::move(others)),
      in_(std::move(in)),
      out_(std::move(out)) {}

void LayerPool::Impl::take(FrameMemory::Shape shape) {
  memory_.take(std::move(shape));
  steps_.lay_out();
}

// Waits for all copies, and for the kernels and the engine's copies that they were put in order
// with.
Result<void> LayerPool::Impl::settle() {
  AQUA_TRY(others_.wait());
  AQUA_TRY(out_.wait());
  return in_.wait();
}

// Copies what layers that stay no longer keep, before their frames are taken away.
Result<void> LayerPool::Impl::send_away(const FrameMemory::Shape& next, std::uint32_t kept) {
  const auto blocks = first_blocks(kept);
  const auto split = away_.split(blocks);
  layer_swap::Tickets tickets;
  for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
    if (next.streamed[layer] && !memory_.streamed()[layer])
      AQUA_TRY(away_.offload(layer, memory_.layout(layer), split, out_.stream(), tickets));
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
    if (!were_away[layer] || memory_.streamed()[layer]) continue;
    const auto posted = away_.fetch(layer, memory_.layout(layer), split, in_.stream(), tickets);
    if (!posted.ok()) return steps_.lose(concat("layer ", layer), posted.error());
  }
  for (const auto& ticket : tickets) {
    if (const auto waited = ticket->wait(); !waited.ok())
      return steps_.lose("resize", waited.error());
  }
  return {};
}

Result<void> LayerPool::Impl::resize(std::uint32_t frames) {
  AQUA_TRY(steps_.check_between("resize"));
  if (change_) {
    return Error{Code::failed_precondition,
                 concat("resize: a change to ", change_->frames, " frames is under way; complete ",
                        "it with its list of blocks, or discard()")};
  }
  return change_frames(frames);
}

Result<void> LayerPool::Impl::change_frames(std::uint32_t frames) {
  if (frames == memory_.frames()) return {};
  AQUA_TRY(check_away());
  if (const std::size_t away = memory_.slabs_missing(frames); away != 0) {
    return Error{Code::unavailable, concat("resize: ", frames, " frames need ", away,
                                           " slabs that are lent; reclaim() them first")};
  }
  AQUA_ASSIGN(auto next, memory_.shape_of(frames));
  const std::uint32_t kept = std::min(memory_.blocks(), next.blocks);
  const std::vector<bool> before = memory_.streamed(), after = next.streamed;
  const auto change = [&]() -> Result<void> {
    away_.drop_lost(before);
    AQUA_TRY(away_.extend(after, next.blocks));
    AQUA_TRY(steps_.save(first_blocks(kept)));
    AQUA_TRY(settle());
    AQUA_TRY(steps_.check_sound());
    AQUA_TRY(send_away(next, kept));
    auto mapped = memory_.map(next);
    if (!mapped.ok() && mapped.error().code == Code::data_loss)
      return steps_.lose("frames", mapped.error());
    return mapped;
  };
  if (auto changed = change(); !changed.ok()) {
    if (!change_) away_.trim(before, memory_.blocks());
    return changed;
  }
  take(std::move(next));
  ++resizes_;
  if (expansion_)
    (void)expansion_->applied(memory_.frames());  // refuses what shape_of() has refused
  auto home = bring_home(before, kept);
  away_.trim(after, memory_.blocks());
  if (home.ok()) memory_.lend_unused();
  reclaim_.reset();
  return home;
}

Result<void> LayerPool::Impl::discard() {
  AQUA_TRY(steps_.begin_discard());
  AQUA_TRY(settle());
  AQUA_TRY(memory_.check_whole());
  steps_.must_discard();
  away_.trim(std::vector<bool>(options_.layers), 0);
  AQUA_ASSIGN(auto same, memory_.shape_of(memory_.frames()));
  same.places = memory_.places();
  AQUA_TRY(away_.extend(same.streamed, same.blocks));
  take(std::move(same));
  change_.reset();
  steps_.discard();
  memory_.lend_unused();  // what a change was to lend that did not end
  return {};
}

}  // namespace aqua
