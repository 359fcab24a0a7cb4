// SPDX-License-Identifier: Apache-2.0
#include "layered_kv.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "must.hpp"

namespace aqua::example {
namespace {

constexpr std::uint32_t kTokens = CacheShape::kTokensPerBlock;

// The blocks in which a sequence had its KV before it was written on, and what it had there.
SequenceView before(const Writing& writing) {
  SequenceView view = writing.sequence.view();
  view.tokens = writing.first;
  view.blocks = view.blocks.first(blocks_for(writing.first));
  return view;
}

std::size_t bytes_of(const SequenceView& view, const CacheGeometry& layer) {
  return view.blocks.size() * layer.block_bytes() * layer.planes.size();
}

}  // namespace

LayeredKv::LayeredKv(Runtime& runtime, const LayeredOptions& options)
    : runtime_(runtime),
      options_(options),
      pool_(make_pool(runtime, options)),
      list_(must(layer_swap::BlockPool::create(CacheShape::kLayers, pool_.usable_blocks()),
                 "list of blocks")),
      dice_(options.least_frames, CacheShape::kLayers, options.seed),
      limit_(list_.usable_blocks()) {
  stats_.layers = CacheShape::kLayers;
  note_frames();
}

LayerPool LayeredKv::make_pool(Runtime& runtime, const LayeredOptions& options) {
  return must(LayerPool::create(runtime, {.layers = CacheShape::kLayers,
                                          .planes_per_layer = CacheShape::kPlanesPerLayer,
                                          .block_bytes = CacheShape::kPlaneBlockBytes,
                                          .device_bytes = options.device_bytes,
                                          .frames = options.frames,
                                          .goal = options.goal,
                                          .on_resize = [this](const auto& news) { follow(news); },
                                          .name = "KV layers"}),
              "layer pool");
}

BlockIds LayeredKv::take(std::uint64_t sequence, std::uint32_t count) {
  return must(list_.allocate(sequence, count), "blocks");
}

void LayeredKv::give_back(std::uint64_t sequence, BlockIds& blocks) {
  if (!blocks.empty()) must(list_.release(sequence), "blocks");
  blocks.clear();
}

std::uint32_t LayeredKv::blocks() const {
  return std::min(limit_, list_.usable_blocks());
}

Ticket LayeredKv::offload(BlockList blocks, AquaTensor& tensor, Stream stream) {
  return must(pool_.offload(blocks, tensor, stream), "offload");
}

Ticket LayeredKv::fetch(AquaTensor& tensor, BlockList blocks, Stream stream) {
  return must(pool_.fetch(tensor, blocks, stream), "fetch");
}

void LayeredKv::check_fetched(Stream stream, CheckOrder order) {
  auto arrived = std::make_shared<std::atomic<bool>>(false);
  must(emulated::launch(runtime_, stream, [arrived] { arrived->store(true); }), "launch");
  arriving_.push_back({std::move(order), std::move(arrived)});
}

void LayeredKv::take_arrived(std::vector<CheckOrder>& checks) {
  std::erase_if(arriving_, [&](Arriving& each) {
    if (!each.arrived->load()) return false;
    checks.push_back(std::move(each.order));
    return true;
  });
}

// A block that a sequence has had tokens in before is read; one that it opens is written only.
LayeredKv::Lists LayeredKv::lists_of(const StepWork& work) const {
  std::vector<bool> read(pool_.usable_blocks()), written(pool_.usable_blocks());
  for (const Writing& writing : work.writings) {
    const auto& blocks = writing.sequence.blocks;
    for (const std::uint32_t block : before(writing).blocks) read[block] = true;
    for (std::uint32_t i = writing.first / kTokens; i < blocks_for(writing.last); ++i)
      written[blocks[i]] = true;
  }
  for (const CheckOrder& order : work.checks) {
    for (const std::uint32_t block : order.sequence.blocks) {
      if (!written[block]) read[block] = true;
    }
  }
  Lists lists;
  for (std::uint32_t block = 0; block < read.size(); ++block) {
    if (read[block]) lists.reads.push_back(block);
    if (written[block]) lists.writes.push_back(block);
  }
  return lists;
}

std::uint64_t LayeredKv::step(Stream stream, StepWork wanted, const StepLoad& load) {
  take_arrived(wanted.checks);
  if (wanted.writings.empty() && wanted.checks.empty()) return 0;
  const Lists lists = lists_of(wanted);
  const auto work = std::make_shared<const StepWork>(std::move(wanted));
  must(pool_.begin_step(stream, lists.reads, lists.writes), "begin_step");
  for (std::uint32_t layer = 0; layer < CacheShape::kLayers; ++layer) {
    const auto planes = must(pool_.begin_layer(layer), "begin_layer");
    must(emulated::launch(runtime_, stream, kernel(work, layer, planes)), "launch");
    must(pool_.end_layer(layer), "end_layer");
  }
  if (steps_to_change_ > 0) --steps_to_change_;
  return must(pool_.end_step(load), "end_step");
}

std::function<void()> LayeredKv::kernel(std::shared_ptr<const StepWork> work, std::uint32_t layer,
                                        std::span<std::byte* const> planes) const {
  const CacheGeometry geometry{.planes = {planes.begin(), planes.end()},
                               .tokens_per_block = kTokens,
                               .slot_bytes = CacheShape::kSlotBytes,
                               .first_plane = std::size_t{layer} * planes.size()};
  const bool last = layer + 1 == CacheShape::kLayers;
  return [geometry, last, work = std::move(work), found = found_, time = options_.layer_time] {
    const auto end = Clock::now() + time;
    for (const Writing& writing : work->writings) {
      found->bytes += bytes_of(before(writing), geometry);
      found->mismatched += count_mismatches(geometry, before(writing));
    }
    for (const Writing& writing : work->writings)
      write_stamps(geometry, writing.sequence.view(), writing.first, writing.last);
    for (const CheckOrder& order : work->checks) {
      const SequenceView view = order.sequence.view();
      order.check->bytes += bytes_of(view, geometry);
      order.check->mismatched_bytes += count_mismatches(geometry, view);
      if (last) order.check->done.store(true, std::memory_order_release);
    }
    std::this_thread::sleep_until(end);
  };
}

bool LayeredKv::step_done(std::uint64_t step) {
  return step == 0 || must(pool_.step_done(step), "step_done");
}

// Sequences that are being fetched have their new block numbers in the engine's table; the checks
// that wait for them, here.
void LayeredKv::follow(const LayerPoolResize& news) {
  news_.preempt.insert(news_.preempt.end(), news.preempt.begin(), news.preempt.end());
  news_.moved.insert(news_.moved.end(), news.moved.begin(), news.moved.end());
  for (const layer_swap::BlockMove& move : news.moved) {
    for (Arriving& each : arriving_) {
      SequenceCopy& sequence = each.order.sequence;
      if (sequence.sequence == move.sequence)
        std::ranges::replace(sequence.blocks, move.from, move.to);
    }
  }
}

// Says how many blocks the scheduler is to do with from now on.
void LayeredKv::choose() {
  const std::uint32_t frames = pool_.status().frames;
  const bool wanted = pool_.status().resizes < wanted_resizes_ && steps_to_change_ == 0;
  if (!target_ && wanted) {
    target_ = dice_.frames(frames);
    at_once_ = dice_.at_once();
    steps_to_change_ = dice_.steps();
  }
  const std::uint32_t next = target_ ? *target_ : pool_.propose();
  limit_ = std::min(list_.usable_blocks(), pool_.usable_blocks(next));
}

// A change that has begun goes on whatever is chosen meanwhile.
KvChange LayeredKv::change(Stream stream) {
  if (!list_.resizing()) {
    choose();
    const std::uint32_t used = list_.usable_blocks() - list_.free_blocks();
    if (used > limit_ && !(target_ && at_once_)) return {};  // the scheduler makes room first
  }
  const Result<bool> done =
      target_ ? pool_.resize(*target_, list_, stream) : pool_.adapt(list_, stream);
  const bool refused = !done.ok() && done.error().code == Code::resource_exhausted;
  if (refused) ++stats_.refused;
  if (refused || must(done, "change of frames")) {
    target_.reset();
    limit_ = list_.usable_blocks();
    note_frames();
  }
  stats_.preempted += news_.preempt.size();
  stats_.moved_blocks += news_.moved.size();
  return std::exchange(news_, {});
}

void LayeredKv::note_frames() {
  const LayerPoolStatus status = pool_.status();
  if (status.frames == stats_.frames) return;
  stats_.frames = status.frames;
  const std::chrono::duration<double> since = Clock::now() - began_;
  stats_.frames_over_time.push_back({since.count(), status.frames, status.usable_blocks});
}

ExpansionStats LayeredKv::stats() const {
  const LayerPoolStatus status = pool_.status();
  ExpansionStats stats = stats_;
  stats.steps = status.steps;
  stats.resizes = status.resizes;
  stats.verified_bytes = found_->bytes;
  stats.mismatched_bytes = found_->mismatched;
  stats.fetched_bytes = status.fetched_bytes;
  stats.written_bytes = status.written_bytes;
  stats.away_bytes = status.away_bytes;
  stats.away_peer_bytes = status.away_peer_bytes;
  stats.compute_seconds = status.compute_seconds;
  stats.stall_seconds = status.stall_seconds;
  stats.reason = status.reason;
  return stats;
}

}  // namespace aqua::example
