// SPDX-License-Identifier: Apache-2.0
// SwappedLayers plays an engine that keeps the KV of some layers in other memory while others
// compute (Pie): what an iteration waits for, and how many blocks the engine may use meanwhile.
// Decisions are the library's own (src/systems/layer_swap/decide): Expansion the frames,
// FixedSchedule and StepTimer the stalls, BlockPool the blocks.
//
// In an iteration each streamed layer fetches the blocks that the batch reads, and writes back
// those that it wrote. Each byte lengthens computing too: it takes its turn on this GPU's memory.
// The link is the layers' own, but for what others leave of it (LinkChange).
//
// A change of frames is made within one iteration, which begins with the blocks that both sizes
// have. Layers that begin or end to stream cross the link, blocks past the new end move on the
// device, and the iteration waits for what the link cannot bring beside its own copies.
//
// On demand: a layer is fetched when its turn comes, through one frame, and nothing overlaps.
//
// Where layers lie: in the SwapSpace, whole, with the peer as far as it lends.
// Units: seconds of doubles inside; what is added to virtual time is whole picoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aqua/layer_swap/block_pool.hpp"
#include "systems/layer_swap/decide/expansion.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/engine/swap_space.hpp"
#include "tools/sim/input/spec.hpp"
#include "tools/sim/layers/link_change.hpp"

namespace aqua::sim {

struct SwappedLayersOptions {
  std::uint32_t layers = 0;
  std::uint32_t blocks = 0;  // of the device when every layer is there
  std::uint32_t block_tokens = 16;
  double layer_block_bytes = 0;  // a block of one layer
  bool on_demand = false;
  // Layers over frames, always the same. None: as Expansion decides; on demand, 2.
  std::optional<double> expansion{};
  LinkSpec peer{}, host{};
  double hbm_bytes_per_second = 1e12;
  std::vector<LinkChange> link_changes{};
};

// An iteration that is about to be computed.
struct LayerIteration {
  Picos compute = 0;
  std::uint64_t blocks = 0;   // that the batch's sequences have when it is over
  std::uint64_t read = 0;     // of them: that had something before
  std::uint64_t written = 0;  // of them
};

class SwappedLayers {
 public:
  // invalid_argument names the option. `swap` must outlive it.
  [[nodiscard]] static Result<SwappedLayers> create(const SwappedLayersOptions& options,
                                                    SwapSpace& swap);

  // Blocks that the engine may use until the next iteration has been played.
  [[nodiscard]] std::uint32_t usable_blocks() const { return std::min(of(frames_), of(asked_)); }
  // A sequence with more tokens is refused: it might not fit when every layer comes back.
  [[nodiscard]] bool holds_ever(std::uint64_t tokens) const {
    return blocks_for(tokens) <= options_.blocks;
  }

  // --- sequences -------------------------------------------------------------------------------
  void waits(std::uint64_t tokens) { waiting_ += blocks_for(tokens); }
  void starts(std::uint64_t tokens) { waiting_ -= blocks_for(tokens); }
  // It has KV of so many tokens, which fit into the blocks that are usable.
  void holds(std::uint64_t sequence, std::uint64_t tokens);
  // It ended or was preempted.
  void leaves(std::uint64_t sequence) { (void)pool_.release(sequence); }

  // --- iterations ------------------------------------------------------------------------------
  struct Played {
    Picos longer = 0;  // than it computes
    bool changes =
        false;  // usable_blocks() may be others now, or the next iteration changes frames
  };
  [[nodiscard]] Played play(const LayerIteration& iteration, Picos now);
  // What a neighbour lends has changed. Frames follow with the next iteration that is played.
  void lent_changed(Picos now);

  [[nodiscard]] std::uint32_t frames() const { return frames_; }
  [[nodiscard]] const LayersOutcome& outcome() const { return outcome_; }
  [[nodiscard]] std::uint64_t blocks_for(std::uint64_t tokens) const {
    return (tokens + options_.block_tokens - 1) / options_.block_tokens;
  }

 private:
  SwappedLayers(const SwappedLayersOptions& options, layer_swap::Expansion expansion,
                layer_swap::BlockPool pool, SwapSpace& swap, std::uint32_t frames);
  [[nodiscard]] std::uint32_t of(std::uint32_t frames) const {
    return expansion_.usable_blocks(frames);
  }
  [[nodiscard]] std::vector<layer_swap::LayerIndex> streamed_with(std::uint32_t frames) const;
  // A copy of so many bytes over the links of the tiers in which layers lie, in the mean.
  [[nodiscard]] double copy_seconds(double bytes, bool in) const;
  [[nodiscard]] layer_swap::StepTiming step(const LayerIteration& iteration, double* computed);
  [[nodiscard]] double change_frames(const LayerIteration& iteration, Picos now);
  void use_frames(std::uint32_t frames, Picos now);
  void place(Picos now);

  SwappedLayersOptions options_;
  layer_swap::Expansion expansion_;
  layer_swap::BlockPool pool_;
  SwapSpace& swap_;
  std::uint32_t frames_, asked_;
  std::vector<layer_swap::LayerIndex> streamed_;
  std::vector<std::uint64_t> placed_;           // keys in the swap space
  std::optional<layer_swap::StepTimer> timer_;  // while layers stream, and overlap
  double peer_share_ = 0;                       // of the streamed layers
  double link_share_ = 1;                       // of the link, that others leave
  std::size_t link_changes_done_ = 0;
  std::uint64_t waiting_ = 0;  // blocks of those that have none
  std::uint64_t read_ = 0;     // blocks, by the last iteration
  LayersOutcome outcome_;
};

}  // namespace aqua::sim
