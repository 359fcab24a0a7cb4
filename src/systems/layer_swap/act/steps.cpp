// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/steps.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

// Invariant: when a step begins, a frame of the ring has the `held_` blocks of the layer that comes
// first in it. Whenever another layer had a block there, a step used that block, and the first
// layer fetched what the step used, for the next one.
namespace aqua::layer_swap {

Steps::Steps(Runtime runtime, const LayerPoolOptions& options, FrameMemory& memory,
             AwayCopies& away, SideStream& in, SideStream& out)
    : layers_(options.layers),
      layer_block_bytes_(options.planes_per_layer * options.block_bytes),
      measured_(!options.goal.empty()),
      memory_(memory),
      away_(away),
      in_(in),
      out_(out),
      meter_(std::move(runtime)),
      fetches_(options.layers) {}

Result<void> Steps::check_sound() {
  auto polled = poll();
  if (lost_) return *lost_;
  return polled;
}

Error Steps::lose(const std::string& what, const Error& why) {
  if (!lost_) {
    lost_ = Error{Code::data_loss,
                  concat("layer pool: ", what, ": ", why.message, "; the KV of every sequence is ",
                         "lost: discard(), and compute it again")};
  }
  return *lost_;
}

// A ticket that is over with an error may be asked again and again.
Result<void> Steps::poll() {
  while (!past_.empty()) {
    PastStep& step = past_.front();
    while (!step.tickets.empty()) {
      const auto done = step.tickets.back()->done();
      if (!done.ok() && done.error().code != Code::data_loss) return done.error();
      if (!done.ok()) return lose(concat("step ", step.number), done.error());
      if (!*done) return {};
      step.tickets.pop_back();
    }
    steps_done_ = step.number;
    past_.pop_front();
  }
  return {};
}

Result<void> Steps::begin(Stream stream, BlockList reads, BlockList writes) {
  AQUA_TRY(check_sound());
  if (step_) {
    return Error{Code::failed_precondition,
                 concat("begin_step: step ", steps_ + 1, " has not ended")};
  }
  AQUA_ASSIGN(const std::vector<bool> read, memory_.check("begin_step", "reads", reads));
  AQUA_TRY(memory_.check("begin_step", "writes", writes));
  AQUA_TRY(out_.run_after(stream));  // also refuses a stream under capture, and a fork
  if (measured_) meter_.begin(stream, laid_out_);

  Step step{.stream = stream};
  if (!memory_.plan().streamed.empty()) AQUA_TRY(fetch_first(step, reads, writes, read));
  laid_out_ = false;
  step_ = std::move(step);
  return {};
}

// Splits the step's lists, and fetches what layers lack that are about to have their turn.
Result<void> Steps::fetch_first(Step& step, BlockList reads, BlockList writes,
                                const std::vector<bool>& read) {
  std::vector<std::uint32_t> all(reads.begin(), reads.end());
  for (const std::uint32_t block : writes) {
    if (!read[block]) all.push_back(block);
  }
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t block : reads) {
    if (!held_[block]) missing.push_back(block);
  }
  step.reads = away_.split(reads);
  step.writes = away_.split(writes);
  step.used = away_.split(all);
  const SplitBlocks lacking = away_.split(missing);
  for (const auto layer : memory_.plan().streamed) {
    if (memory_.schedule().state(layer) != LayerState::home) continue;
    const auto fetched = fetch(layer, lacking);
    if (!fetched.ok() && fetched.error().code == Code::data_loss)
      return lose(concat("layer ", layer), fetched.error());
    AQUA_TRY(fetched);  // no step has begun: the call may be repeated
  }
  for (const std::uint32_t block : all) held_[block] = true;
  return {};
}

Result<void> Steps::fetch(std::uint32_t layer, const SplitBlocks& blocks) {
  if (blocks.empty()) return {};
  meter_.start(StepMeter::Span::fetch, in_.stream());
  const auto fetched =
      away_.fetch(layer, memory_.layout(layer), blocks, in_.stream(), fetches_[layer]);
  meter_.stop(in_.stream());
  AQUA_TRY(fetched);
  for (const auto& of : blocks) {
    fetched_bytes_ += of.blocks.size() * layer_block_bytes_;
    meter_.fetched(of.blocks.size());
  }
  return {};
}

// Posts what the step has of them, in order. What cannot be posted now stays, for the next call.
Result<void> Steps::post_moves(std::uint32_t ended) {
  std::deque<Move>& moves = step_->moves;
  while (!moves.empty()) {
    const Move move = moves.front();
    const auto posted = post(ended, move);
    if (!posted.ok() && posted.error().code == Code::data_loss)
      return lose(concat("layer ", move.layer), posted.error());
    AQUA_TRY(posted);
    // Streams keep the order from here on, whatever the host sees complete.
    if (const auto told = memory_.schedule().completed(move.kind); !told.ok())
      return lose("schedule", told.error());
    moves.pop_front();
  }
  return {};
}

// A fetch into a frame comes after the kernels and the write-backs of the layers that had it: of
// all that have ended, since those of other frames were posted before. Once posted in part, a move
// may be posted again whole: it copies the same bytes.
Result<void> Steps::post(std::uint32_t ended, const Move& move) {
  Step& step = *step_;
  if (move.kind == MoveKind::out) {
    Tickets& leaving = leaving_[memory_.slot_of(move.layer)];
    meter_.start(StepMeter::Span::write, out_.stream());
    const auto posted =
        away_.offload(move.layer, memory_.layout(move.layer), step.writes, out_.stream(), leaving);
    meter_.stop(out_.stream());
    AQUA_TRY(posted);
    step.tickets.insert(step.tickets.end(), leaving.begin(), leaving.end());
    for (const auto& of : step.writes) written_bytes_ += of.blocks.size() * layer_block_bytes_;
    return {};
  }
  AQUA_TRY(in_.run_after(out_.stream()));
  // What has had its turn comes in for the next step.
  return fetch(move.layer, move.layer > ended ? step.reads : step.used);
}

Result<void> Steps::check_posted(const char* call) const {
  if (step_->moves.empty()) return {};
  return Error{Code::failed_precondition,
               concat(call, ": the copies of layer ", step_->ended - 1,
                      " could not all begin: call its end_layer() again")};
}

// Makes the step's stream wait for these copies, and the step depend on them.
Result<void> Steps::await(std::uint32_t layer, Tickets& tickets) {
  while (!tickets.empty()) {
    const auto waits = tickets.back()->stream_wait(step_->stream, 0);
    if (!waits.ok() && waits.error().code == Code::data_loss)
      return lose(concat("layer ", layer), waits.error());
    AQUA_TRY(waits);
    step_->tickets.push_back(std::move(tickets.back()));
    tickets.pop_back();
  }
  return {};
}

Result<std::span<std::byte* const>> Steps::begin_layer(std::uint32_t layer) {
  if (lost_) return *lost_;
  if (!step_) return Error{Code::failed_precondition, "begin_layer: no step was begun"};
  if (step_->in_layer) {
    return Error{Code::failed_precondition,
                 concat("begin_layer: layer ", step_->ended, " has not ended")};
  }
  AQUA_TRY(check_posted("begin_layer"));
  if (step_->ended == layers_) {
    return Error{Code::invalid_argument,
                 concat("begin_layer: layer ", layer, ", where every layer has ended")};
  }
  AQUA_TRY(memory_.schedule().reach(layer));
  // Where nothing was to be fetched, the frame may still be copied from.
  if (memory_.streamed()[layer]) {
    meter_.start(StepMeter::Span::stall, step_->stream);
    AQUA_TRY(await(layer, leaving_[memory_.slot_of(layer)]));
    AQUA_TRY(await(layer, fetches_[layer]));
    meter_.stop(step_->stream);
  }
  step_->in_layer = true;
  return memory_.planes(layer);
}

Result<void> Steps::end_layer(std::uint32_t layer) {
  if (lost_) return *lost_;
  if (step_ && !step_->moves.empty() && layer + 1 == step_->ended) return post_moves(layer);
  if (!step_ || !step_->in_layer) {
    return Error{Code::failed_precondition, concat("end_layer: layer ", layer, " was not begun")};
  }
  if (layer != step_->ended) {
    return Error{Code::invalid_argument,
                 concat("end_layer: layer ", layer, ", where layer ", step_->ended, " was begun")};
  }
  // Asked first: a stream under capture is refused, and nothing changes. Behind the last layer so
  // that the end of the copies is the end of the kernels as well.
  if (memory_.streamed()[layer] || layer + 1 == layers_) AQUA_TRY(out_.run_after(step_->stream));
  AQUA_ASSIGN(const auto moves, memory_.schedule().end(layer));
  step_->moves.assign(moves.begin(), moves.end());
  step_->in_layer = false;
  ++step_->ended;
  return post_moves(layer);
}

Result<std::uint64_t> Steps::end(const StepLoad& load) {
  if (lost_) return *lost_;
  if (!step_) return Error{Code::failed_precondition, "end_step: no step was begun"};
  if (step_->in_layer || step_->ended < layers_) {
    return Error{Code::failed_precondition,
                 concat("end_step: layer ", step_->ended, " of ", layers_, " has not ended")};
  }
  AQUA_TRY(check_posted("end_step"));
  meter_.end(step_->stream, load.blocks_used, load.blocks_wanted);
  past_.push_back({++steps_, std::move(step_->tickets)});
  step_.reset();
  return steps_;
}

Result<bool> Steps::done(std::uint64_t step) {
  if (step == 0 || step > steps_) {
    return Error{Code::invalid_argument,
                 concat("step_done: step ", step, ", where ", steps_, " have ended")};
  }
  AQUA_TRY(check_sound());
  if (step <= discarded_) {
    return Error{Code::data_loss,
                 concat("step_done: step ", step, " came before what was discarded")};
  }
  return step <= steps_done_;
}

Result<void> Steps::check_between(const char* call) {
  AQUA_TRY(check_sound());
  if (!step_) return {};
  return Error{Code::failed_precondition, concat(call, ": step ", steps_ + 1, " has not ended")};
}

void Steps::lay_out() {
  held_.assign(memory_.blocks(), false);
  meter_.clear();
  laid_out_ = true;
  for (auto& tickets : fetches_) tickets.clear();
  leaving_.assign(memory_.plan().ring, {});
}

void Steps::forget(BlockList blocks) {
  for (const std::uint32_t block : blocks) held_[block] = false;
}

Result<void> Steps::begin_discard() {
  if (step_) AQUA_TRY(out_.run_after(step_->stream));
  return {};
}

void Steps::must_discard() {
  lost_ = Error{Code::data_loss, "layer pool: a discard() has not ended well; call it again"};
}

void Steps::discard() {
  step_.reset();
  past_.clear();
  discarded_ = steps_done_ = steps_;
  lost_.reset();
}

void Steps::describe(LayerPoolStatus& status) const {
  status.steps = steps_;
  status.fetched_bytes = fetched_bytes_;
  status.written_bytes = written_bytes_;
}

}  // namespace aqua::layer_swap
