// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/layers/swapped_layers.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

// Invariant: sequences hold at most usable_blocks() whenever an iteration is played, since the
// scheduler is told of them before it decides. So no resize of the pool has to preempt.
namespace aqua::sim {
namespace {

constexpr std::uint64_t kFirstKey = std::uint64_t{1} << 62;  // beside sequences and prefixes
constexpr double kOnDemandExpansion = 2;

Error refused(std::string why) {
  return Error{Code::invalid_argument, "layers that are swapped: " + std::move(why)};
}

Result<void> check(const SwappedLayersOptions& options) {
  if (options.layers < layer_swap::kLeastFrames || options.layers > layer_swap::kMostLayers) {
    return refused(concat("a model of ", options.layers, " layers; from ", layer_swap::kLeastFrames,
                          " to ", layer_swap::kMostLayers));
  }
  const double most = static_cast<double>(options.layers) / layer_swap::kLeastFrames;
  if (const double e = options.expansion.value_or(1); !(e >= 1 && e <= most)) {
    return refused(concat("an expansion of ", e, "; from 1 to ", most, ", which leaves ",
                          layer_swap::kLeastFrames, " of ", options.layers, " layers"));
  }
  Picos last = 0;
  for (const LinkChange& change : options.link_changes) {
    if (change.at < last) return refused("changes of the link are not in order of time");
    if (!(change.share > 0 && change.share <= 1)) {
      return refused(concat("a link of which ", change.share, " is left; above 0, at most 1"));
    }
    last = change.at;
  }
  return {};
}

std::uint32_t frames_of(std::uint32_t layers, double expansion) {
  const auto frames = static_cast<std::uint32_t>(std::lround(layers / expansion));
  return std::clamp(frames, layer_swap::kLeastFrames, layers);
}

// How many of `these` are not among `others`; both ascend.
std::size_t missing(const std::vector<layer_swap::LayerIndex>& these,
                    const std::vector<layer_swap::LayerIndex>& others) {
  return static_cast<std::size_t>(std::count_if(these.begin(), these.end(), [&](auto layer) {
    return !std::binary_search(others.begin(), others.end(), layer);
  }));
}

double rate_of(const LinkSpec& link, Tier tier, bool in) {
  if (tier == Tier::peer) return link.between_bytes_per_second();
  return in ? link.in_bytes_per_second : link.out_bytes_per_second;
}

}  // namespace

Result<SwappedLayers> SwappedLayers::create(const SwappedLayersOptions& options, SwapSpace& swap) {
  AQUA_TRY(check(options));
  const Tier tier = swap.tier_for(options.layer_block_bytes);
  const double in = rate_of(tier == Tier::peer ? options.peer : options.host, tier, true);
  AQUA_ASSIGN(layer_swap::Expansion expansion,
              layer_swap::Expansion::create({.layers = options.layers,
                                             .blocks = options.blocks,
                                             .seconds_per_block = options.layer_block_bytes / in}));
  std::uint32_t frames = options.layers;
  SwappedLayersOptions with = options;
  if (with.on_demand && !with.expansion) with.expansion = kOnDemandExpansion;
  if (with.expansion) frames = frames_of(options.layers, *with.expansion);
  AQUA_ASSIGN(layer_swap::BlockPool pool,
              layer_swap::BlockPool::create(options.layers, expansion.usable_blocks(frames)));
  return SwappedLayers(with, std::move(expansion), std::move(pool), swap, frames);
}

SwappedLayers::SwappedLayers(const SwappedLayersOptions& options, layer_swap::Expansion expansion,
                             layer_swap::BlockPool pool, SwapSpace& swap, std::uint32_t frames)
    : options_(options),
      expansion_(std::move(expansion)),
      pool_(std::move(pool)),
      swap_(swap),
      frames_(frames),
      asked_(frames) {
  use_frames(frames, 0);
}

void SwappedLayers::use_frames(std::uint32_t frames, Picos now) {
  frames_ = frames;
  streamed_ = streamed_with(frames);
  timer_.reset();
  if (!streamed_.empty() && !options_.on_demand) {
    auto schedule =
        layer_swap::make_layer_schedule("fixed", {.layers = options_.layers, .frames = frames});
    assert(schedule.ok());
    timer_.emplace(std::move(schedule).value());
  }
  outcome_.frames.push_back({now, frames, outcome_.iterations});
  place(now);
}

std::vector<layer_swap::LayerIndex> SwappedLayers::streamed_with(std::uint32_t frames) const {
  if (frames == options_.layers) return {};
  if (options_.on_demand) return layer_swap::plan_ring(options_.layers, frames, 1).streamed;
  return layer_swap::best_ring(options_.layers, frames).streamed;
}

void SwappedLayers::place(Picos now) {
  for (const std::uint64_t key : placed_) swap_.release(key, now);
  placed_.clear();
  std::size_t with_peer = 0;
  for (const layer_swap::LayerIndex layer : streamed_) {
    placed_.push_back(kFirstKey + layer);
    const Tier tier = swap_.reserve(placed_.back(), of(frames_) * options_.layer_block_bytes, now);
    with_peer += tier == Tier::peer ? 1 : 0;
  }
  peer_share_ = streamed_.empty()
                    ? 0
                    : static_cast<double>(with_peer) / static_cast<double>(streamed_.size());
}

void SwappedLayers::lent_changed(Picos now) {
  const double before = peer_share_;
  place(now);
  if (options_.expansion || peer_share_ >= before) return;
  // As steps measure it: the latency of a copy is that of all its blocks.
  const auto blocks = static_cast<double>(std::max<std::uint64_t>(read_, 1));
  asked_ =
      *expansion_.link_changed(copy_seconds(blocks * options_.layer_block_bytes, true) / blocks);
}

double SwappedLayers::copy_seconds(double bytes, bool in) const {
  const auto over = [&](const LinkSpec& link, Tier tier) {
    return link.latency_s + bytes / (rate_of(link, tier, in) * link_share_);
  };
  double mean = 0;
  if (peer_share_ > 0) mean += peer_share_ * over(options_.peer, Tier::peer);
  if (peer_share_ < 1) mean += (1 - peer_share_) * over(options_.host, Tier::host);
  return mean;
}

void SwappedLayers::holds(std::uint64_t sequence, std::uint64_t tokens) {
  const std::uint64_t want = blocks_for(tokens), have = pool_.blocks_of(sequence).size();
  if (want <= have) return;
  [[maybe_unused]] const auto taken =
      pool_.allocate(sequence, static_cast<std::uint32_t>(want - have));
  assert(taken.ok());
}

// Plays the layers of an iteration. `computed`: without what they waited for.
layer_swap::StepTiming SwappedLayers::step(const LayerIteration& iteration, double* computed) {
  const double streamed = static_cast<double>(streamed_.size());
  const double read = static_cast<double>(iteration.read) * options_.layer_block_bytes;
  const double written = static_cast<double>(iteration.written) * options_.layer_block_bytes;
  const double traffic = streamed * (read + written) / options_.hbm_bytes_per_second;
  *computed = seconds(iteration.compute) + traffic;
  const double fetch = copy_seconds(read, true), write_back = copy_seconds(written, false);
  outcome_.bytes_in += streamed * read;
  outcome_.bytes_out += streamed * written;
  if (options_.on_demand) {
    layer_swap::StepTiming timing{.fetching = streamed * fetch,
                                  .writing = streamed * write_back,
                                  .fetched = static_cast<std::uint32_t>(streamed_.size())};
    timing.stalled = timing.fetching + timing.writing;
    timing.seconds = *computed + timing.stalled;
    return timing;
  }
  const auto timing = timer_->step({.compute = *computed / options_.layers,
                                    .fetch = fetch,
                                    .whole_out = copy_seconds(read, false),
                                    .write_back = write_back});
  assert(timing.ok());
  return *timing;
}

// Makes the frames those that were asked for, and answers the seconds that the link and this GPU's
// memory take for it.
double SwappedLayers::change_frames(const LayerIteration& iteration, Picos now) {
  const std::vector<layer_swap::LayerIndex> then = streamed_with(asked_);
  const double layer = static_cast<double>(iteration.blocks) * options_.layer_block_bytes;
  const auto leave = static_cast<double>(missing(then, streamed_));
  const auto come = static_cast<double>(missing(streamed_, then));
  [[maybe_unused]] const auto preempted = pool_.resize(of(asked_));
  assert(preempted.ok() && preempted->empty());
  const std::vector<layer_swap::BlockMove> moves = pool_.take_moves();
  for (const layer_swap::BlockMove& move : moves) (void)pool_.moved(move.from);
  for (layer_swap::LayerIndex k = 0; k < options_.layers; ++k) (void)pool_.layer_ready(k);
  assert(!pool_.resizing());
  use_frames(asked_, now);
  outcome_.bytes_in += come * layer;
  outcome_.bytes_out += leave * layer;
  outcome_.blocks_moved += moves.size();
  const double moved = 2.0 * static_cast<double>(moves.size()) * options_.layers *
                       options_.layer_block_bytes / options_.hbm_bytes_per_second;
  return std::max(leave * copy_seconds(layer, false), come * copy_seconds(layer, true)) + moved;
}

SwappedLayers::Played SwappedLayers::play(const LayerIteration& iteration, Picos now) {
  for (; link_changes_done_ < options_.link_changes.size(); ++link_changes_done_) {
    const LinkChange& change = options_.link_changes[link_changes_done_];
    if (change.at > now) break;
    link_share_ = change.share;
  }
  const bool all_home = streamed_.empty();
  double computed = seconds(iteration.compute);
  layer_swap::StepTiming timing{.seconds = computed};
  if (!all_home) timing = step(iteration, &computed);
  outcome_.iterations += 1;
  read_ = iteration.read;
  outcome_.layer_seconds += timing.seconds * options_.layers / frames_;
  outcome_.seconds += timing.seconds;
  if (iteration.blocks * 20 >= usable_blocks() * std::uint64_t{19} && !outcome_.full_at) {
    outcome_.full_at = outcome_.iterations;
  }
  const bool resizing = frames_ != asked_;
  double change = 0;
  if (resizing) {
    const double idle = timing.seconds - std::max(timing.fetching, timing.writing);
    change = std::max(0.0, change_frames(iteration, now) - std::max(0.0, idle));
  }
  outcome_.stalled_seconds += timing.stalled + change;
  if (!options_.expansion) {
    layer_swap::StepMeasure measure;
    measure.compute_seconds = timing.seconds - timing.stalled;
    measure.stall_seconds = timing.stalled;
    measure.fetch_seconds = timing.fetching;
    measure.write_seconds = timing.writing;
    measure.fetched_blocks = timing.fetched * iteration.read;
    measure.blocks_used = static_cast<std::uint32_t>(iteration.blocks);
    measure.blocks_wanted = static_cast<std::uint32_t>(iteration.blocks + waiting_);
    measure.resizing = resizing;
    asked_ = *expansion_.step(measure);
  }
  Played played{.longer = 0, .changes = resizing || frames_ != asked_};
  if (!all_home || change > 0) played.longer = picos(timing.seconds + change) - iteration.compute;
  return played;
}

}  // namespace aqua::sim
