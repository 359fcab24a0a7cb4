// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/steps.hpp"

#include <utility>

#include "aqua/stream_mark.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"

// Invariant: when a step begins, every streamed layer that has a frame, or is on its way into one,
// has the `held_` blocks there. Under `fixed` those are the layers that come first in their frame:
// whenever another layer had a block there, a step used that block, and the first layer fetched
// what the step used, for the next one. Under `fifo` layers come in and go out with all such
// blocks. What is not held is in what is away.
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
      runtime_(std::move(runtime)),
      meter_(detail::Internals::view(runtime_)),
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
  if (memory_.frames() < layers_) AQUA_TRY(fetch_first(step, reads, writes, read));
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
  for (std::uint32_t layer = 0; layer < layers_; ++layer) {
    if (!memory_.streamed()[layer] || !has_frame(layer)) continue;
    const auto fetched = fetch(layer, lacking);
    if (!fetched.ok() && fetched.error().code == Code::data_loss)
      return lose(concat("layer ", layer), fetched.error());
    AQUA_TRY(fetched);  // no step has begun: the call may be repeated
  }
  for (const std::uint32_t block : all) held_[block] = true;
  if (memory_.frames_change()) step.whole = away_.split(held_blocks());
  return {};
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
  // Where frames change, moves are posted as a layer begins: what could not be posted yet is left
  // of this call, which reach() repeats.
  if (!memory_.frames_change()) AQUA_TRY(check_posted("begin_layer"));
  if (step_->ended == layers_) {
    return Error{Code::invalid_argument,
                 concat("begin_layer: layer ", layer, ", where every layer has ended")};
  }
  // A stream under capture is refused before anything is posted, also where nothing is left to wait
  // for: a graph would not wait either when it is launched again.
  if (layer == step_->ended && memory_.streamed()[layer])
    AQUA_TRY(StreamMark::check(runtime_, step_->stream));
  AQUA_TRY(reach(layer));
  // Where nothing was to be fetched, the frame may still be copied from.
  if (memory_.streamed()[layer]) {
    meter_.start(StepMeter::Span::stall, step_->stream);
    AQUA_TRY(await(layer, leaving_[memory_.frame_of(layer)]));
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
  leaving_.assign(memory_.frames(), {});
  under_way_ = {};
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
