// SPDX-License-Identifier: Apache-2.0
// Migrator drives moves of many tensors at once over one stream, a window of bytes at a
// time, so that copies follow one another without a gap and an urgent one need not wait
// long behind others. A failure on that stream is not always of the tensor that it shows
// on: who is suspect is copied once more, alone on a second stream.
//
// Threads: one (the control loop's). Only wait_next() blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "device/own_stream.hpp"
#include "tensor/entry.hpp"

namespace aqua::tensor {

struct MigratorStats {
  std::size_t evacuated_bytes = 0;
  std::size_t promoted_bytes = 0;
  std::size_t evacuations = 0;
  std::size_t promotions = 0;
};

class Migrator {
 public:
  static constexpr std::size_t kWindowBytes = std::size_t{64} << 20;

  // Uses two streams of its own on `device`, which outlives it.
  [[nodiscard]] static Result<std::unique_ptr<Migrator>> create(device::Device& device);
  ~Migrator();  // abandons what has not flipped, after its copies are over
  Migrator(const Migrator&) = delete;
  Migrator& operator=(const Migrator&) = delete;

  // Whether another move may be started now.
  [[nodiscard]] bool has_room() const noexcept { return in_flight_bytes_ < kWindowBytes; }
  // Starts a move; see TensorEntry::begin_move for errors. `to` null: home.
  [[nodiscard]] Result<void> start(std::shared_ptr<TensorEntry> entry,
                                   std::shared_ptr<TensorPlace> to);
  // Takes every possible step. Returns true when something ended.
  bool poll(bool pressing);
  // Tensors whose move found their bytes gone, since the last call.
  [[nodiscard]] std::vector<std::shared_ptr<TensorEntry>> take_lost() {
    return std::exchange(lost_, {});
  }
  // Blocks until the oldest copy that is still running completes, for at most `patience`: the copy
  // may wait for work of the engine's. True when it is complete, or none runs.
  bool wait_next(std::chrono::microseconds patience);
  // Gives up promotions: their window is wanted for evacuations.
  void abandon_promotions();

  [[nodiscard]] bool idle() const noexcept { return moves_.empty(); }
  [[nodiscard]] bool copying() const noexcept;  // false: all that is left waits for pins
  [[nodiscard]] const MigratorStats& stats() const noexcept { return stats_; }

 private:
  struct Move {
    std::shared_ptr<TensorEntry> entry;
    bool promotion = false;
    bool pinned = false;   // its last round is complete; it waits for pins
    bool suspect = false;  // its last round failed; it waits for its turn alone
    [[nodiscard]] bool running() const noexcept { return !pinned && !suspect; }
  };

  Migrator(device::Device& device, device::OwnStream stream, device::OwnStream alone,
           std::unique_ptr<device::Event> alone_done)
      : device_(device),
        stream_(std::move(stream)),
        alone_(std::move(alone)),
        alone_done_(std::move(alone_done)) {}
  [[nodiscard]] bool copy_alone(TensorEntry& entry);
  [[nodiscard]] bool next_is_over();
  void account(const Move& move);

  device::Device& device_;
  const device::OwnStream stream_;
  const device::OwnStream alone_;
  const std::unique_ptr<device::Event> alone_done_;
  std::deque<Move> moves_;
  std::size_t in_flight_bytes_ = 0;  // of the moves that are not pinned
  MigratorStats stats_;
  std::vector<std::shared_ptr<TensorEntry>> lost_;
};

}  // namespace aqua::tensor
