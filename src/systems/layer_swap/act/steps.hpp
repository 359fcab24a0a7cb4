// SPDX-License-Identifier: Apache-2.0
// Steps posts the copies of a LayerPool's steps: the moves of its schedule, in order, and what each
// fetches and writes back; and it knows of which steps all copies are over, and whether bytes are
// lost.
//
// Threads: one at a time. Owns: the steps' tickets and marks. Frames, what is away and the streams
// are the pool's, and outlive this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/side_stream.hpp"
#include "systems/layer_swap/act/away_copies.hpp"
#include "systems/layer_swap/act/frame_memory.hpp"
#include "systems/layer_swap/act/step_meter.hpp"

namespace aqua::layer_swap {

class Steps {
 public:
  Steps(Runtime runtime, const LayerPoolOptions& options, FrameMemory& memory, AwayCopies& away,
        SideStream& in, SideStream& out);

  // --- LayerPool's begin_step(), begin_layer(), end_layer(), end_step() and step_done() ----------
  [[nodiscard]] Result<void> begin(Stream stream, BlockList reads, BlockList writes);
  [[nodiscard]] Result<std::span<std::byte* const>> begin_layer(std::uint32_t layer);
  [[nodiscard]] Result<void> end_layer(std::uint32_t layer);
  [[nodiscard]] Result<std::uint64_t> end(const StepLoad& load);
  [[nodiscard]] Result<bool> done(std::uint64_t step);
  void describe(LayerPoolStatus& status) const;
  [[nodiscard]] StepMeter& meter() noexcept { return meter_; }

  // --- between steps ----------------------------------------------------------------------------
  // data_loss where bytes are lost; failed_precondition where a step is under way.
  [[nodiscard]] Result<void> check_between(const char* call);
  [[nodiscard]] Result<void> check_sound();
  // Bytes are lost: data_loss, from now on and until discard().
  [[nodiscard]] Error lose(const std::string& what, const Error& why);
  // The bytes of these blocks in frames of streamed layers no longer count; what is away has newer.
  void forget(BlockList blocks);
  // Posts copies after which what is away has the bytes of these blocks, of all streamed layers.
  // Waits for no copy, and says `unavailable` as Runtime::offload() to pages does. Errors: its own,
  // and after data_loss bytes are lost. Where a copy fails later check_sound() says so.
  [[nodiscard]] Result<void> save(BlockList blocks);
  // The frames are laid out anew: those of streamed layers have no block, and no copy is under way.
  void lay_out();

  // --- in this order, to end the step that is under way and all before it -----------------------
  [[nodiscard]] Result<void> begin_discard();  // the stream out ends no sooner than its kernels
  void must_discard();                         // nothing goes on before discard()
  void discard();

 private:
  // The step that is under way.
  struct Step {
    Stream stream;
    SplitBlocks reads{}, writes{}, used{};  // used: of both
    SplitBlocks whole{};                    // what a layer has, where frames change
    Tickets tickets{};                      // that it depends on
    std::uint32_t ended = 0;                // layers
    bool in_layer = false;                  // layer `ended` is begun
    std::deque<Move> moves{};               // not posted yet; of one layer
  };
  struct PastStep {
    std::uint64_t number = 0;
    Tickets tickets;  // not seen to be over
  };

  [[nodiscard]] Result<void> poll();
  [[nodiscard]] Result<void> fetch_first(Step& step, BlockList reads, BlockList writes,
                                         const std::vector<bool>& read);
  [[nodiscard]] Result<void> fetch(std::uint32_t layer, const SplitBlocks& blocks);
  [[nodiscard]] Result<void> send(std::uint32_t layer, const SplitBlocks& blocks, Tickets& tickets);
  [[nodiscard]] Result<void> await(std::uint32_t layer, Tickets& tickets);
  [[nodiscard]] Result<void> check_posted(const char* call) const;
  [[nodiscard]] Result<void> post_moves(std::uint32_t ended);
  [[nodiscard]] Result<void> post(std::uint32_t ended, const Move& move);
  [[nodiscard]] Result<void> reach(std::uint32_t layer);
  [[nodiscard]] Result<void> see_complete();
  [[nodiscard]] Result<void> tell(MoveKind kind);
  [[nodiscard]] bool has_frame(std::uint32_t layer) const;  // or is on its way into one
  [[nodiscard]] std::vector<std::uint32_t> held_blocks() const;

  const std::uint32_t layers_;
  const std::size_t layer_block_bytes_;
  const bool measured_;  // for a goal
  FrameMemory& memory_;
  AwayCopies& away_;
  SideStream &in_, &out_;
  Runtime runtime_;  // a view of the caller's

  StepMeter meter_;
  bool laid_out_ = false;         // no step has begun since
  std::vector<bool> held_;        // blocks that have been used since the frames were laid out
  std::vector<Tickets> fetches_;  // of each layer, for its next turn
  std::vector<Tickets> leaving_;  // out of each frame
  std::array<std::deque<Tickets>, 2> under_way_;  // moves that the schedule is to hear of, by kind
  std::optional<Step> step_;
  std::deque<PastStep> past_;
  std::uint64_t steps_ = 0, steps_done_ = 0;
  std::uint64_t discarded_ = 0;  // the last step before a discard()
  std::uint64_t fetched_bytes_ = 0, written_bytes_ = 0;
  std::optional<Error> lost_;
};

}  // namespace aqua::layer_swap
