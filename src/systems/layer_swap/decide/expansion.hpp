// SPDX-License-Identifier: Apache-2.0
// Expansion decides how many frames a pool of layers has: fewer frames make more blocks of the same
// memory (`capacity`), or leave memory to others (`memory`), as long as the link brings the layers
// in time (Pie, 3.4.2).
//
//   expansion = layers / frames, frames in flight counted
//
// It is told of each step and answers the frames to have. It asks for fewer when blocks are wanted
// and its reckoning, from the measured times of a layer and of the link, sees no stall; at first
// after a few steps. It keeps them when they paid: when the blocks used, over a step's time, rose
// beyond the noise, or, for `memory`, did not fall. That is what tokens a second rise by; tokens
// themselves swing many times as far, with the lengths of the sequences that happen to run. It asks
// for more after a window of stalls, by the same reckoning, and when fewer blocks were wanted for
// long. What failed is tried again rarely, and ever more rarely; what lies between frames that
// stalled and a full pool that does not for long, one frame at a time. Told that the link has
// become another one, it does not wait for stalls.
//
// Threads: not thread-safe; deterministic.
// Errors: a call that fails changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "systems/layer_swap/decide/step_reckoning.hpp"
#include "systems/layer_swap/decide/step_window.hpp"

namespace aqua::layer_swap {

enum class Goal : std::uint8_t {
  capacity,  // the same memory, more blocks
  memory,    // the same blocks, fewer frames
};

struct ExpansionOptions {
  Goal goal = Goal::capacity;
  std::uint32_t layers = 0;
  std::uint32_t blocks = 0;  // usable when every layer has a frame
  // That so many frames hold, by number of frames up to `layers`, where memory comes in pieces;
  // never more with more frames. Empty: blocks * layers / frames.
  std::vector<std::uint32_t> usable_blocks{};
  // To fetch a block of one layer, as calibrated; 0: not known, so that one layer is tried first.
  double seconds_per_block = 0;
  double stall_share = 0.02;         // of a step: what stalls may take and count as none
  std::uint32_t window_steps = 16;   // that a change is concluded from
  std::uint32_t first_steps = 4;     // that the first change is concluded from
  std::uint32_t probe_steps = 1024;  // until what failed is tried again, at first

  // The share of a step's time: stalls that take more make the step a stalled one.
  [[nodiscard]] double stalled_share() const { return 2 * stall_share; }
};

// Why the frames are as many as they are.
enum class ExpansionReason : std::uint8_t {
  start,
  wanted,      // fewer, since blocks were wanted (for `memory`: since the link has room)
  stalls,      // more, since steps stalled
  link,        // more, since by reckoning they would have, over the link that there is now
  unpaid,      // as before, since fewer gained nothing
  not_wanted,  // more, since blocks were not used
  applied,     // as the caller said
};
[[nodiscard]] std::string_view to_string(ExpansionReason reason) noexcept;

class Expansion {
 public:
  // invalid_argument: options out of range, named.
  [[nodiscard]] static Result<Expansion> create(const ExpansionOptions& options);

  // Says that a step is over, and answers the frames to have from now on. Until they are there,
  // steps are `resizing`. invalid_argument: a time is negative or no number.
  [[nodiscard]] Result<std::uint32_t> step(const StepMeasure& measure);

  // Says that what is away lies elsewhere, from where a block of a layer takes so long to come in.
  // Answers the frames to have from now on: more where steps as the last ones would stall. Nothing
  // is concluded from steps before. invalid_argument: no positive number.
  [[nodiscard]] Result<std::uint32_t> link_changed(double seconds_per_block);

  // Says that the frames are so many, whatever was asked for: fewer had no room, other ranks have
  // more, or somebody chose. Fewer are not asked for again until what failed would be. Does nothing
  // when they are those that were asked for. invalid_argument: out of range.
  [[nodiscard]] Result<void> applied(std::uint32_t frames);

  [[nodiscard]] std::uint32_t frames() const { return frames_; }
  [[nodiscard]] ExpansionReason reason() const { return reason_; }
  // The number of blocks that `frames` frames hold.
  [[nodiscard]] std::uint32_t usable_blocks(std::uint32_t frames) const;

 private:
  explicit Expansion(const ExpansionOptions& options);

  // The times of the window that reckoning goes by.
  struct Times {
    double compute = 0;  // of a layer
    double used = 0;     // blocks
    double wanted = 0;
    double rate = 0;  // blocks used a second
  };
  // A change to fewer frames whose gain is not known yet.
  struct Trial {
    std::uint32_t before = 0;  // frames
    double rate = 0;
    double noise = 0;
    double compute_per_block = 0;  // as known at the last jump
    double used = 0;               // blocks, in the window before
    std::optional<Times> risen{};  // of a window while the pool fills
    bool undecided = false;        // too few more blocks are used to tell
  };
  // Frames that stalled or gained nothing.
  struct Failure {
    std::uint32_t frames = 0;
    double seconds_per_block = 0;
    std::uint64_t until = 0;   // step
    std::uint32_t faster = 0;  // windows that fetched, in a row, with a faster link
    bool stalled = false;      // rather than gained nothing
  };
  [[nodiscard]] Times measured() const;
  void learn(const Times& times);
  [[nodiscard]] std::size_t stalled_steps() const;  // of the window
  [[nodiscard]] double to_be_used(std::uint32_t frames, const Times& times) const;
  [[nodiscard]] std::uint32_t fewest_that_fit(const Times& times, double tolerance) const;
  [[nodiscard]] std::uint32_t most_that_hold(double blocks) const;
  [[nodiscard]] std::uint32_t fewest_to_try(const Times& times) const;
  void conclude();
  void yield_to_stalls(const Times& times);
  [[nodiscard]] double enough_used() const;
  [[nodiscard]] bool rises(const Times& times, double least);
  [[nodiscard]] bool judge_trial(const Times& times);
  [[nodiscard]] bool give_back_unwanted();
  void grow(const Times& times);
  void change(std::uint32_t frames, ExpansionReason reason);
  void fail(std::uint32_t frames, bool stalled = false);

  ExpansionOptions options_;
  std::uint32_t frames_;
  ExpansionReason reason_ = ExpansionReason::start;
  StepWindow window_;
  StepReckoning reckoning_;
  std::optional<Times> last_;     // that were concluded from
  std::uint64_t steps_ = 0;       // that counted
  std::uint64_t changed_at_ = 0;  // of these
  std::optional<Trial> trial_;
  std::optional<Failure> failure_;
  std::uint64_t patience_;         // steps until the next failure is tried again
  std::uint32_t shrinks_ = 0;      // by stalls in a row
  std::uint64_t unsure_ = 0;       // windows in a row in which some steps stalled
  std::uint64_t calm_ = 0;         // and in which none did
  std::uint32_t most_wanted_ = 0;  // since wanted_since_
  std::uint64_t wanted_since_ = 0;
};

}  // namespace aqua::layer_swap
