// SPDX-License-Identifier: Apache-2.0
// LayerSchedule decides which layer's KV is in which frame of the device while a model's layers
// compute in turn, step after step, and which copies that takes.
//
//   for (LayerIndex k = 0; k < layers; ++k) {
//     post(*schedule->reach(k));             // until state(k) is home: wait, completed(), reach(k)
//     /* kernels of layer k, which read *frame_of(k) */
//     post(*schedule->end(k));
//   }
//
// A posted move starts when those posted before it are done that go the same way, or are for the
// same frame or the same layer, and when the kernels of the layers that had ended by then are.
//
// Policies: `fifo` is the paper's (Pie, 3.3): it decides when a layer is reached, by what it has
// been told is complete. `fixed` is ours: a layer either stays, or streams through a frame that is
// its own in every step; nothing depends on what is complete.
//
// Time: none. completed() says that a move is done, or that whatever is posted from now on is
// ordered behind it: a host that launches ahead may say so at once.
// Threads: not thread-safe; deterministic.
// Owns: numbers only.
// Errors: a call that fails changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::layer_swap {

using LayerIndex = std::uint32_t;  // of the layers whose KV is swapped, in the order they compute
using FrameIndex = std::uint32_t;  // room on the device for one layer's KV

enum class MoveKind : std::uint8_t { in, out };  // to the device, from it
[[nodiscard]] std::string_view to_string(MoveKind kind) noexcept;

struct Move {
  MoveKind kind = MoveKind::in;
  LayerIndex layer = 0;
  FrameIndex frame = 0;
  // Whether a move out takes all of the layer. Otherwise only the blocks go that were written since
  // it came in, since the copy that is away still has the others.
  bool whole = true;
  friend bool operator==(const Move&, const Move&) = default;
};

// Where a layer is. It has a frame unless it is away.
enum class LayerState : std::uint8_t { home, leaving, away, coming };
[[nodiscard]] std::string_view to_string(LayerState state) noexcept;

struct LayerScheduleOptions {
  std::uint32_t layers = 0;
  std::uint32_t frames = 0;  // from 3 to `layers`; expansion = layers / frames
  // `fixed`: frames that layers stream through, from 1 to 3 and at most `layers` - `frames`. 0: as
  // many as bear the slowest link.
  std::uint32_t ring = 0;
};

inline constexpr std::uint32_t kLeastFrames = 3;
inline constexpr std::uint32_t kMostLayers = 256;

class LayerSchedule {
 public:
  virtual ~LayerSchedule() = default;
  LayerSchedule(const LayerSchedule&) = delete;
  LayerSchedule& operator=(const LayerSchedule&) = delete;

  // Says that `layer` is to compute next, and answers the moves to post before its kernels. Layers
  // come in order, from 0 again after the last. While the layer is not home it may be reached
  // again, after a completed(). invalid_argument: another layer is next.
  [[nodiscard]] Result<std::vector<Move>> reach(LayerIndex layer);
  // Says that the kernels of `layer` are launched, and answers the moves to post behind them.
  // failed_precondition: it was not reached, or is not home.
  [[nodiscard]] Result<std::vector<Move>> end(LayerIndex layer);
  // Says that the first of the moves of this kind that are not complete is. failed_precondition:
  // there is none.
  [[nodiscard]] Result<void> completed(MoveKind kind);

  // A layer past the last is away.
  [[nodiscard]] LayerState state(LayerIndex layer) const;
  [[nodiscard]] std::optional<FrameIndex> frame_of(LayerIndex layer) const;
  [[nodiscard]] std::uint32_t layers() const { return static_cast<std::uint32_t>(table_.size()); }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }
  // Moves that are posted and not complete.
  [[nodiscard]] std::size_t under_way(MoveKind kind) const {
    return under_way_[static_cast<std::size_t>(kind)].size();
  }

 protected:
  explicit LayerSchedule(const LayerScheduleOptions& options);
  // Places a layer before the first step.
  void start_home(LayerIndex layer, FrameIndex frame);
  [[nodiscard]] Move post(Move move);

 private:
  virtual void on_reach(LayerIndex layer, std::vector<Move>& moves) = 0;
  virtual void on_end(LayerIndex layer, std::vector<Move>& moves) = 0;
  virtual void on_free(FrameIndex frame) = 0;  // a layer has left it

  struct Row {
    LayerState state = LayerState::away;
    FrameIndex frame = 0;
    std::uint64_t last_move = 0;  // its number
  };
  struct UnderWay {
    Move move;
    std::uint64_t number = 0;
  };

  std::vector<Row> table_;  // the mapping table
  std::uint32_t frames_;
  LayerIndex next_ = 0;
  bool reached_ = false;                           // next_ is reached, and has not ended
  std::array<std::deque<UnderWay>, 2> under_way_;  // by kind
  std::uint64_t moves_ = 0;                        // posted so far
};

// Makes a schedule by its name, `fifo` or `fixed`. At first the layers that have a frame are home:
// for `fifo` those that come first, for `fixed` those that every step leaves there.
// invalid_argument: no such schedule, or options out of range.
[[nodiscard]] Result<std::unique_ptr<LayerSchedule>> make_layer_schedule(
    std::string_view name, const LayerScheduleOptions& options);

}  // namespace aqua::layer_swap
