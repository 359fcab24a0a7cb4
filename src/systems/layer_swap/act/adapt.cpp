// SPDX-License-Identifier: Apache-2.0
// LayerPool's expansion: what the steps' times ask for, and how the engine's blocks follow.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/act/layer_pool_impl.hpp"

// Invariant: while change_ is set, the engine's list hands out no block past those that the frames
// to come hold, the frames are still those of before, and all memory that the change takes is
// there, or has died: it holds nothing between calls, and is taken anew.
namespace aqua {

using layer_swap::BlockMove;
using layer_swap::BlockPool;

namespace {

constexpr std::size_t kMostCopiedAtOnce = std::size_t{64} << 20;
constexpr std::size_t kLinkSample = std::size_t{32} << 20;
constexpr std::chrono::milliseconds kReclaim{2000};  // until it is asked again
constexpr std::size_t kMostNamed = 16;               // sequences, in a message
constexpr double kLongSample = 0.1;                  // seconds that need no other one beside them

// A list is on its way to fewer blocks.
bool gives_up(const BlockPool& blocks) {
  return blocks.resizing() && blocks.usable_blocks() == blocks.target_blocks();
}

// For the end of a message: how many they are, and the first of them.
std::string named(const std::vector<layer_swap::SequenceId>& sequences) {
  if (sequences.empty()) return "; none has blocks";
  std::string text = concat("; ", sequences.size(), " have blocks: ");
  for (std::size_t i = 0; i < std::min(sequences.size(), kMostNamed); ++i)
    text += concat(i == 0 ? "" : ", ", sequences[i]);
  return sequences.size() > kMostNamed ? text + " ..." : text;
}

}  // namespace

Result<void> LayerPool::Impl::make_expansion() {
  const std::uint32_t layers = options_.layers;
  const auto goal =
      options_.goal == "memory" ? layer_swap::Goal::memory : layer_swap::Goal::capacity;
  const auto [tier, seconds] = measure_link(false);
  (tier == Tier::peer ? peer_seconds_ : host_seconds_) = seconds;
  if (tier == Tier::peer) host_seconds_ = measure_link(true).second;
  layer_swap::ExpansionOptions options{.goal = goal,
                                       .layers = layers,
                                       .blocks = memory_.blocks(),
                                       .usable_blocks = std::vector<std::uint32_t>(layers + 1),
                                       .seconds_per_block = seconds};
  for (std::uint32_t frames = layer_swap::kLeastFrames; frames <= layers; ++frames)
    options.usable_blocks[frames] = memory_.usable_blocks(frames);
  AQUA_ASSIGN(auto made, layer_swap::Expansion::create(options));
  expansion_ = std::move(made);
  return {};
}

// The seconds that a block of one layer takes to come in, from where layers would be away or from
// host memory, and which of these it was; 0 where that cannot be measured. The blocks hold nothing
// yet.
std::pair<Tier, double> LayerPool::Impl::measure_link(bool host_only) {
  const auto count = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kLinkSample / layer_block_bytes(), 1, memory_.blocks()));
  const auto blocks = first_blocks(count);
  double best = 0;
  Tier tier = Tier::host;
  const auto measure = [&]() -> Result<void> {
    AQUA_ASSIGN(auto away, runtime_.allocate({.bytes = count * layer_block_bytes(),
                                              .name = concat(options_.name, " link"),
                                              .host_only = host_only,
                                              .off_device = true}));
    tier = away.tier();
    AQUA_ASSIGN(auto begin, StreamMark::create(runtime_));
    AQUA_ASSIGN(auto end, StreamMark::create(runtime_));
    for (int round = 0; round < 3; ++round) {
      AQUA_TRY(begin.set(in_.stream()));
      AQUA_ASSIGN(auto ticket, runtime_.fetch(away, TensorPages{count, blocks, 0},
                                              memory_.layout(0), blocks, in_.stream()));
      AQUA_TRY(end.set(in_.stream()));
      AQUA_TRY(ticket.wait());
      AQUA_TRY(in_.wait());
      AQUA_ASSIGN(const auto took, end.since(begin));
      const double seconds = std::chrono::duration<double>(took).count();
      best = best > 0 ? std::min(best, seconds / count) : seconds / count;
      if (seconds > kLongSample) break;
    }
    return {};
  };
  return {tier, measure().ok() ? best : 0};
}

// Layers that were moved out of lent memory take longer to come in. What moves up again is seen by
// the steps; where nothing streams any more, Expansion tries anew after a while. A change of frames
// that is under way is completed first. What moved while one was made is not seen here: the stalls
// are.
void LayerPool::Impl::follow_link() {
  if (change_) return;
  const std::size_t all = away_.bytes(), peer = away_.peer_bytes();
  const bool evacuated = all == away_bytes_ && peer < away_peer_bytes_;
  away_bytes_ = all;
  away_peer_bytes_ = peer;
  if (!evacuated || !(host_seconds_ > 0) || (peer > 0 && !(peer_seconds_ > 0))) return;
  const double share = static_cast<double>(peer) / static_cast<double>(all);
  (void)expansion_->link_changed(share * peer_seconds_ + (1 - share) * host_seconds_);
}

std::uint32_t LayerPool::Impl::propose() {
  if (!expansion_) return memory_.frames();
  while (auto measure = steps_.meter().next()) {
    measured_.compute_seconds += measure->compute_seconds;
    measured_.stall_seconds += measure->stall_seconds;
    measured_.fetch_seconds += measure->fetch_seconds;
    measured_.write_seconds += measure->write_seconds;
    // Steps that ran with other frames than were asked for say nothing of these.
    measure->resizing = measure->resizing || expansion_->frames() != memory_.frames();
    (void)expansion_->step(*measure);  // refuses negative times only
  }
  follow_link();
  return expansion_->frames();
}

Result<bool> LayerPool::Impl::adapt(BlockPool& blocks, Stream stream) {
  const std::uint32_t frames = propose();
  auto done = resize(frames, blocks, stream);
  if (!done.ok() && done.error().code == Code::resource_exhausted && expansion_ && !change_)
    AQUA_TRY(expansion_->applied(memory_.frames()));
  return done;
}

Result<bool> LayerPool::Impl::resize(std::uint32_t frames, BlockPool& blocks, Stream stream) {
  auto done = follow_frames(frames, blocks, stream);
  if (done.ok() || steps_.check_sound().ok()) return done;
  return Error{done.error().code, concat(done.error().message, named(blocks.sequences()))};
}

Result<bool> LayerPool::Impl::follow_frames(std::uint32_t frames, BlockPool& blocks,
                                            Stream stream) {
  AQUA_TRY(steps_.check_between("resize"));
  AQUA_TRY(check_list(blocks));
  const bool same = frames == memory_.frames() && blocks.usable_blocks() == memory_.blocks();
  if (!change_ && !blocks.resizing() && same) {
    // What came back for frames that are not wanted any more.
    if (reclaim_ && reclaim_->progress().done) {
      memory_.lend_unused();
      reclaim_.reset();
    }
    return true;
  }
  const std::uint32_t to = change_ ? change_->frames : gives_up(blocks) ? memory_.frames() : frames;
  if (const std::size_t missing = memory_.slabs_missing(to); missing != 0) {
    AQUA_TRY(take_back(missing));
    return false;
  }
  const std::uint32_t holds = memory_.usable_blocks(to);
  if (!change_ && (gives_up(blocks) || (holds != 0 && holds < blocks.usable_blocks())))
    AQUA_TRY(begin_change(to, blocks));
  if (change_) {
    AQUA_ASSIGN(const bool vacated, vacate(blocks, stream));
    if (!vacated) return false;
  }
  AQUA_TRY(change_frames(to));
  if (!change_) AQUA_TRY(blocks.resize(holds));
  change_.reset();
  for (std::uint32_t layer = 0; blocks.resizing(); ++layer) AQUA_TRY(blocks.layer_ready(layer));
  tell({.frames = to, .usable_blocks = memory_.blocks(), .done = true});
  return follow_frames(frames, blocks, stream);
}

// Refuses another list than the one that a change began with: which of its blocks are held is
// unknown.
Result<void> LayerPool::Impl::check_list(const BlockPool& blocks) const {
  const std::uint32_t usable = blocks.usable_blocks();
  const bool holds_more = usable == memory_.blocks() && !blocks.vacated();  // than there ever were
  if (blocks.layers() == options_.layers && usable <= memory_.blocks() && !holds_more &&
      (!change_ || (gives_up(blocks) && usable == change_->blocks)))
    return {};
  return Error{Code::invalid_argument,
               concat("resize: a list of ", blocks.usable_blocks(), " blocks of ", blocks.layers(),
                      " layers, where ", memory_.blocks(), " of ", options_.layers, " are usable",
                      change_ ? ", and not the one that a change has begun with" : "")};
}

// Asks for slabs that are lent; again when others were given back in their place.
Result<void> LayerPool::Impl::take_back(std::size_t slabs) {
  if (reclaim_ && !reclaim_->progress().done) return {};
  AQUA_ASSIGN(reclaim_, runtime_.reclaim(slabs * options_.slab_bytes, kReclaim));
  return {};
}

Result<AquaTensor> LayerPool::Impl::make_room(std::size_t bytes) {
  return runtime_.allocate({.bytes = bytes, .name = concat(options_.name, " moves")});
}

// Takes what the change will need, and has the list give up the blocks past those of so many
// frames. A list that does so already, for its owner or since a discard() ended the change, goes
// on.
Result<void> LayerPool::Impl::begin_change(std::uint32_t frames, BlockPool& blocks) {
  AQUA_ASSIGN(const auto next, memory_.shape_of(frames));
  Change change{.frames = frames, .blocks = next.blocks};
  if (gives_up(blocks)) change.blocks = blocks.usable_blocks();
  const auto reserve = [&]() -> Result<void> {
    away_.drop_lost(memory_.streamed());
    AQUA_TRY(away_.extend(next.streamed, memory_.blocks()));
    const std::size_t most = std::max<std::size_t>(kMostCopiedAtOnce / packed_bytes(1), 1);
    const std::size_t count = std::min<std::size_t>(most, memory_.blocks() - change.blocks);
    if (count == 0) return {};
    AQUA_ASSIGN(change.room, make_room(packed_bytes(count)));
    return {};
  };
  if (auto reserved = reserve(); !reserved.ok()) {
    away_.trim(memory_.streamed(), memory_.blocks());
    return reserved;
  }
  std::vector<layer_swap::SequenceId> preempt;
  if (!gives_up(blocks)) {
    AQUA_ASSIGN(preempt, blocks.resize(change.blocks));
  }
  change_ = std::move(change);
  if (preempt.empty()) return {};
  tell({.frames = frames, .usable_blocks = change_->blocks, .preempt = std::move(preempt)});
  return {};
}

// Moves the blocks that the list gives up. False while some are held.
Result<bool> LayerPool::Impl::vacate(BlockPool& blocks, Stream stream) {
  Change& change = *change_;
  for (const BlockMove& move : blocks.take_moves()) change.moves.push_back(move);
  std::erase_if(change.moves, [&](const BlockMove& move) {  // its sequence was released meanwhile
    const auto of = blocks.blocks_of(move.sequence);
    return std::find(of.begin(), of.end(), move.from) == of.end();
  });
  if (!change.moves.empty()) {
    AQUA_TRY(others_.run_after(stream));
    AQUA_TRY(copy_blocks(change));
    for (const BlockMove& move : change.moves) AQUA_TRY(blocks.moved(move.from));
    tell({.frames = change.frames,
          .usable_blocks = change.blocks,
          .moved = std::exchange(change.moves, {})});
  }
  return blocks.vacated();
}

// Waits for the copies, which come after all that was posted so far.
Result<void> LayerPool::Impl::copy_blocks(Change& change) {
  if (change.room->lost()) {
    AQUA_ASSIGN(change.room, make_room(change.room->bytes()));
  }
  AquaTensor& room = *change.room;
  const std::size_t at_once = room.bytes() / packed_bytes(1);
  AQUA_TRY(in_.run_after(out_.stream()));
  AQUA_TRY(in_.run_after(others_.stream()));
  for (std::size_t first = 0; first < change.moves.size(); first += at_once) {
    const std::size_t count = std::min(at_once, change.moves.size() - first);
    std::vector<std::uint32_t> from, to;
    for (std::size_t i = first; i < first + count; ++i) {
      from.push_back(change.moves[i].from);
      to.push_back(change.moves[i].to);
    }
    AQUA_ASSIGN(auto out, offload(from, room, in_.stream(), 0));
    AQUA_ASSIGN(auto back, fetch(room, to, in_.stream(), 0));
    AQUA_TRY(out.wait());
    AQUA_TRY(back.wait());
  }
  return {};
}

}  // namespace aqua
