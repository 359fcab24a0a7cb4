// SPDX-License-Identifier: Apache-2.0
// Steps' copies: how the moves of a schedule are posted, and what the schedule hears of them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/act/steps.hpp"

// Invariant: under_way_ has one entry for each move that the schedule has under way and that was
// posted, in its order. Those that were not are in the step's moves, behind them.
namespace aqua::layer_swap {

bool Steps::has_frame(std::uint32_t layer) const {
  const LayerState state = memory_.schedule().state(layer);
  return state == LayerState::home || state == LayerState::coming;
}

std::vector<std::uint32_t> Steps::held_blocks() const {
  std::vector<std::uint32_t> held;
  for (std::uint32_t block = 0; block < held_.size(); ++block) {
    if (held_[block]) held.push_back(block);
  }
  return held;
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

// Says that the first move of this kind is complete, or that streams keep whatever comes from now
// on behind it.
Result<void> Steps::tell(MoveKind kind) {
  auto& moves = under_way_[static_cast<std::size_t>(kind)];
  if (!moves.empty()) moves.pop_front();
  if (const auto told = memory_.schedule().completed(kind); !told.ok())
    return lose("schedule", told.error());
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
    moves.pop_front();
    // `fixed` depends on nothing that the host sees complete.
    if (!memory_.frames_change()) AQUA_TRY(tell(move.kind));
  }
  return {};
}

// A fetch into a frame comes after the kernels and the copies of the layers that had it. Under
// `fixed` of all that have ended, since those of other frames were posted before. Once posted in
// part, a move may be posted again whole: it copies the same bytes.
Result<void> Steps::post(std::uint32_t ended, const Move& move) {
  Step& step = *step_;
  const bool in = move.kind == MoveKind::in;
  Tickets& tickets = in ? fetches_[move.layer] : leaving_[move.frame];
  const auto older = static_cast<std::ptrdiff_t>(tickets.size());
  if (in && memory_.frames_change()) {
    for (const auto& ticket : leaving_[move.frame]) AQUA_TRY(ticket->stream_wait(in_.stream(), 0));
    AQUA_TRY(fetch(move.layer, step.whole));
  } else if (in) {
    AQUA_TRY(in_.run_after(out_.stream()));
    // What has had its turn comes in for the next step.
    AQUA_TRY(fetch(move.layer, move.layer > ended ? step.reads : step.used));
  } else {
    const SplitBlocks& blocks = move.whole ? step.whole : step.writes;
    AQUA_TRY(send(move.layer, blocks, tickets));
    for (const auto& of : blocks) written_bytes_ += of.blocks.size() * layer_block_bytes_;
    step.tickets.insert(step.tickets.end(), tickets.begin(), tickets.end());
  }
  if (memory_.frames_change()) {
    under_way_[static_cast<std::size_t>(move.kind)].push_back(
        {std::next(tickets.begin(), older), tickets.end()});
  }
  return {};
}

// Under `fifo` a layer may go out, or be saved, before it has computed on what came in: the copy
// out waits for the copies in itself. The tensor that both name does not order them once it has
// moved between the two, since its new place knows nothing of reads of the old one. And it is good
// only if they are, so whoever asks for it asks for them: where one fails the frame has other
// bytes, which go out all the same.
Result<void> Steps::send(std::uint32_t layer, const SplitBlocks& blocks, Tickets& tickets) {
  if (memory_.frames_change()) {
    for (const auto& ticket : fetches_[layer]) {
      AQUA_TRY(ticket->stream_wait(out_.stream(), 0));
      tickets.push_back(ticket);
    }
  }
  meter_.start(StepMeter::Span::write, out_.stream());
  auto posted = away_.offload(layer, memory_.layout(layer), blocks, out_.stream(), tickets);
  meter_.stop(out_.stream());
  return posted;
}

// Posts what the schedule moves as a layer begins, until the schedule has the layer at home.
// `fixed` moves nothing here: its layers are at home by their turn.
Result<void> Steps::reach(std::uint32_t layer) {
  LayerSchedule& schedule = memory_.schedule();
  AQUA_TRY(post_moves(layer));  // what an earlier call could not
  while (true) {
    AQUA_TRY(see_complete());
    AQUA_ASSIGN(const auto moves, schedule.reach(layer));
    step_->moves.assign(moves.begin(), moves.end());
    AQUA_TRY(post_moves(layer));
    const LayerState state = schedule.state(layer);
    if (state == LayerState::home) return {};
    // What the layer waits for is still being copied. The host does not wait: it tells the schedule
    // that the oldest copy is complete, since whatever is posted from now on comes behind it in
    // stream order. So no time passes where StepTimer waits, and moves are decided earlier.
    const bool comes = schedule.under_way(MoveKind::in) > 0 && state != LayerState::leaving;
    AQUA_TRY(tell(comes ? MoveKind::in : MoveKind::out));
  }
}

// Tells the schedule of the moves that are complete. A question that fails is asked again by the
// next layer.
Result<void> Steps::see_complete() {
  for (const MoveKind kind : {MoveKind::in, MoveKind::out}) {
    auto& moves = under_way_[static_cast<std::size_t>(kind)];
    const auto complete = [](const std::shared_ptr<Ticket>& ticket) {
      const auto done = ticket->done();
      return done.ok() ? *done : done.error().code == Code::data_loss;  // which step_done() says
    };
    while (!moves.empty() && std::all_of(moves.front().begin(), moves.front().end(), complete))
      AQUA_TRY(tell(kind));
  }
  return {};
}

// Under `fifo` the bytes of these blocks are in the frames of layers that have one. Copies them to
// what is away, which has all of those of `fixed` at any time.
Result<void> Steps::save(BlockList blocks) {
  if (!memory_.frames_change()) return {};
  std::vector<std::uint32_t> saved(blocks.begin(), blocks.end());
  std::erase_if(saved, [&](std::uint32_t block) { return !held_[block]; });
  const SplitBlocks held = away_.split(saved);
  if (held.empty()) return {};
  past_.push_back({steps_, {}});
  Tickets& posted = past_.back().tickets;
  for (std::uint32_t layer = 0; layer < layers_; ++layer) {
    if (!has_frame(layer)) continue;
    Tickets& leaving = leaving_[memory_.frame_of(layer)];
    std::erase_if(leaving, [](const std::shared_ptr<Ticket>& ticket) {
      const auto done = ticket->done();
      return done.ok() && *done;
    });
    const auto older = static_cast<std::ptrdiff_t>(leaving.size());
    const auto sent = send(layer, held, leaving);
    posted.insert(posted.end(), std::next(leaving.begin(), older), leaving.end());
    if (!sent.ok() && sent.error().code == Code::data_loss)
      return lose(concat("layer ", layer), sent.error());
    AQUA_TRY(sent);
  }
  return {};
}

}  // namespace aqua::layer_swap
