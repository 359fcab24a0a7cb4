// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/concat.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"

// Invariants: the window holds steps with frames_ frames only, and none that was resizing. A trial
// is open only while frames_ is less than it was before.
namespace aqua::layer_swap {
namespace {

constexpr double kLeastGain = 0.01;  // of blocks a second, below which nothing has changed
constexpr double kFasterLink = 0.6;  // of the time a block took when frames failed: try again
constexpr std::uint32_t kFasterWindows = 2;  // in a row
constexpr double kOtherFill = 1.25;          // of the blocks used, or of what one costs: not alike
constexpr double kNearlyAll = 0.95;          // of the blocks
constexpr double kStillFills = 1.02;         // of the blocks used a window before
constexpr double kMostNoise = 0.1;  // that is believed: rates also move when the pool fills
constexpr double kTelling = 2;      // times the least gain: more blocks that would show it
constexpr double kSpare = 1.1;      // blocks kept beyond the most that were wanted
constexpr std::uint64_t kLongWindows =
    4;  // without want, with stalls now and then or with none, until that counts
constexpr std::uint64_t kMostPatience = 16;  // times probe_steps

// What tokens a second rise by with more blocks. They themselves swing many times as far, with the
// lengths of the sequences that happen to run.
double rate_of(const StepMeasure& step) {
  return step.seconds() > 0 ? step.blocks_used / step.seconds() : 0;
}

}  // namespace

std::string_view to_string(ExpansionReason reason) noexcept {
  constexpr std::string_view kNames[] = {"start",  "wanted",     "stalls", "link",
                                         "unpaid", "not_wanted", "applied"};
  return kNames[static_cast<std::size_t>(reason)];
}

Expansion::Expansion(const ExpansionOptions& options)
    : options_(options),
      frames_(options.layers),
      window_(options.window_steps),
      reckoning_(options.layers, options.seconds_per_block),
      patience_(options.probe_steps) {}

Result<Expansion> Expansion::create(const ExpansionOptions& options) {
  const auto refuse = [](std::string why) {
    return Error{Code::invalid_argument, "Expansion::create: " + std::move(why)};
  };
  if (options.layers < kLeastFrames || options.layers > kMostLayers) {
    return refuse(concat(options.layers, " layers; from ", kLeastFrames, " to ", kMostLayers));
  }
  if (options.blocks == 0) return refuse("no blocks");
  const auto& table = options.usable_blocks;
  if (!table.empty() &&
      (table.size() != options.layers + std::size_t{1} || table[options.layers] != options.blocks ||
       !std::is_sorted(table.rbegin(), table.rend() - kLeastFrames))) {
    return refuse(concat("usable_blocks of ", table.size(), " numbers: one for each number of ",
                         "frames up to ", options.layers, ", falling to ", options.blocks));
  }
  if (!(options.seconds_per_block >= 0) || !std::isfinite(options.seconds_per_block)) {
    return refuse(concat("seconds_per_block of ", options.seconds_per_block));
  }
  if (!(options.stall_share >= 0) || !(options.stall_share < 1)) {
    return refuse(concat("a stall_share of ", options.stall_share, "; from 0 to below 1"));
  }
  if (options.first_steps == 0 || options.window_steps < options.first_steps ||
      options.window_steps > options.probe_steps) {
    return refuse(concat("first_steps ", options.first_steps, ", window_steps ",
                         options.window_steps, ", probe_steps ", options.probe_steps,
                         "; each at least the one before, and 1"));
  }
  return Expansion(options);
}

std::uint32_t Expansion::usable_blocks(std::uint32_t frames) const {
  if (options_.goal == Goal::memory || frames == 0) return options_.blocks;
  if (!options_.usable_blocks.empty())
    return options_.usable_blocks[std::min(frames, options_.layers)];
  const std::uint64_t blocks = std::uint64_t{options_.blocks} * options_.layers / frames;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, UINT32_MAX));
}

Result<std::uint32_t> Expansion::step(const StepMeasure& m) {
  for (const double time : {m.compute_seconds, m.stall_seconds, m.fetch_seconds, m.write_seconds}) {
    if (!(time >= 0) || !std::isfinite(time)) {
      return Error{Code::invalid_argument, concat("Expansion::step: a time of ", time)};
    }
  }
  if (m.resizing) {
    window_.clear();
    return frames_;
  }
  window_.add(m);
  steps_ += 1;
  most_wanted_ = std::max(most_wanted_, m.blocks_wanted);
  conclude();
  return frames_;
}

Result<std::uint32_t> Expansion::link_changed(double seconds_per_block) {
  if (!(seconds_per_block > 0) || !std::isfinite(seconds_per_block)) {
    return Error{Code::invalid_argument,
                 concat("Expansion::link_changed: ", seconds_per_block, " seconds a block")};
  }
  reckoning_.set_seconds_per_block(seconds_per_block);
  window_.clear();
  changed_at_ = steps_;
  if (!last_) return frames_;
  const std::uint32_t reckoned = fewest_that_fit(*last_, 0);
  if (reckoned <= frames_) return frames_;
  // Where nothing streams no step tells of a link that is faster again: it is tried after a while.
  if (reckoned == options_.layers) fail(frames_);
  change(reckoned, ExpansionReason::link);
  return frames_;
}

Result<void> Expansion::applied(std::uint32_t frames) {
  if (frames < kLeastFrames || frames > options_.layers) {
    return Error{Code::invalid_argument,
                 concat("Expansion::applied: ", frames, " frames of ", options_.layers, " layers")};
  }
  if (frames == frames_) return {};
  if (frames > kLeastFrames) fail(frames - 1);
  change(frames, ExpansionReason::applied);
  return {};
}

void Expansion::conclude() {
  const bool first = reason_ == ExpansionReason::start && window_.size() >= options_.first_steps;
  if (!first && !window_.full()) return;
  const std::size_t stalled = stalled_steps();
  if (4 * stalled >= 3 * window_.size() && window_.full()) return yield_to_stalls(measured());
  // The rest is looked at once in a window: each time on other steps.
  if (!first && (steps_ - changed_at_) % options_.window_steps != 0) return;
  if (4 * stalled > window_.size()) {  // nothing is concluded from a burst, unless it goes on
    unsure_ += 1;
    calm_ = 0;
    if (unsure_ >= kLongWindows) yield_to_stalls(measured());
    return;
  }
  unsure_ = shrinks_ = 0;
  calm_ = stalled == 0 ? calm_ + 1 : 0;
  const Times times = measured();
  learn(times);
  if (judge_trial(times) || give_back_unwanted()) return;
  grow(times);
}

Expansion::Times Expansion::measured() const {
  return {window_.median([](const StepMeasure& s) { return s.compute_seconds; }) / options_.layers,
          window_.median([](const StepMeasure& s) { return s.blocks_used; }),
          window_.median([](const StepMeasure& s) { return s.blocks_wanted; }),
          window_.median(rate_of)};
}

void Expansion::learn(const Times& times) {
  last_ = times;
  const bool fetched = reckoning_.learn(window_, frames_, {times.compute, times.used});
  if (!failure_ || !fetched) return;
  const bool is_faster = reckoning_.seconds_per_block() < kFasterLink * failure_->seconds_per_block;
  failure_->faster = is_faster ? failure_->faster + 1 : 0;
}

std::size_t Expansion::stalled_steps() const {
  if (frames_ == options_.layers) return 0;
  const double most = options_.stalled_share();
  return window_.count(
      [most](const StepMeasure& s) { return s.stall_seconds > most * s.seconds(); });
}

// For `memory` every block may come to be used, however few are wanted yet.
double Expansion::to_be_used(std::uint32_t frames, const Times& times) const {
  const double usable = usable_blocks(frames);
  return options_.goal == Goal::memory ? usable : std::min(times.wanted, usable);
}

std::uint32_t Expansion::fewest_that_fit(const Times& times, double tolerance) const {
  // The link's time is not known: one layer away tells it.
  if (reckoning_.seconds_per_block() == 0) return std::max(kLeastFrames, options_.layers - 1);
  const StepReckoning::Layer now{times.compute, times.used};
  std::uint32_t frames = kLeastFrames;
  while (!reckoning_.surely_fits(frames, to_be_used(frames, times), now, tolerance)) ++frames;
  // Below, steps may have to be played, until the first that stalls.
  while (frames > kLeastFrames &&
         reckoning_.fits(frames - 1, to_be_used(frames - 1, times), now, tolerance)) {
    --frames;
  }
  return frames;
}

std::uint32_t Expansion::most_that_hold(double blocks) const {
  std::uint32_t frames = options_.layers;
  while (frames > kLeastFrames && usable_blocks(frames) < blocks) --frames;
  return frames;
}

// As many frames as hold what is wanted, or what fits: fewer of the same blocks would gain nothing.
std::uint32_t Expansion::fewest_to_try(const Times& times) const {
  const std::uint32_t failed = failure_ ? failure_->frames + 1 : kLeastFrames;
  if (options_.goal == Goal::memory)
    return std::max(failed, fewest_that_fit(times, options_.stall_share));
  std::uint32_t fewest = failed;
  if (reckoning_.seconds_per_block() == 0) {
    // The first frames that hold more tell the link's time.
    if (frames_ < options_.layers) return frames_;
    fewest = std::max(fewest, most_that_hold(usable_blocks(frames_) + 1.0));
  } else {
    fewest = std::max(fewest, fewest_that_fit(times, options_.stall_share));
  }
  // The reckoning may be too careful by a frame or two: it takes every block to be used at once.
  if (failure_ && failure_->stalled && calm_ >= kLongWindows &&
      times.used > kNearlyAll * usable_blocks(frames_))
    fewest = std::min(fewest, std::max(failed, frames_ - 1));
  return most_that_hold(std::min<double>(times.wanted, usable_blocks(fewest)));
}

void Expansion::yield_to_stalls(const Times& times) {
  learn(times);
  fail(frames_, true);
  const std::uint32_t more = 1U << std::min(shrinks_++, 8U);
  const std::uint32_t reckoned =
      std::max(frames_ + more, fewest_that_fit(times, options_.stall_share));
  change(std::min(reckoned, options_.layers), ExpansionReason::stalls);
}

// The blocks that have to be used before a change to fewer frames is judged: more than there were
// before, and, of many more, enough to tell.
double Expansion::enough_used() const {
  const double before = usable_blocks(trial_->before);
  return std::max(before, std::min(kNearlyAll * usable_blocks(frames_), kOtherFill * before));
}

// Whether a quarter more blocks still raise what is used a second. The steps of a pool that fills
// carry prompts, those of before may have carried none: they are compared with each other.
bool Expansion::rises(const Times& times, double least) {
  const auto last = trial_->risen;
  if (last && times.used < kOtherFill * last->used) return true;
  trial_->risen = times;
  return !last || times.rate > last->rate * (1 + least);
}

// Whether nothing more is to be concluded from this window: the open trial was ended by going back,
// or waits for a window whose steps are those of a full pool.
bool Expansion::judge_trial(const Times& times) {
  if (!trial_) return false;
  const double noise = std::min(kMostNoise, window_.noise(rate_of));
  bool paid = false;
  if (options_.goal == Goal::capacity) {
    const double used_before = std::exchange(trial_->used, times.used);
    // While the pool fills, the best that the blocks of before would have done is what counts.
    if (times.used <= usable_blocks(trial_->before) && times.rate > trial_->rate) {
      trial_->rate = times.rate;
      trial_->noise = noise;
    }
    if (times.used <= enough_used()) return false;
    const double least = std::max(kLeastGain, std::hypot(noise, trial_->noise));
    // So few more blocks could not show a gain, and may be followed by more.
    trial_->undecided =
        times.used <= usable_blocks(trial_->before) * (1 + kTelling * std::min(least, kMostNoise));
    if (trial_->undecided) return false;
    if (times.used > kStillFills * used_before) {
      // The pool became full within this window: many of its steps carry the prompts that did it.
      if (times.used >= kNearlyAll * usable_blocks(frames_)) return true;
      if (rises(times, least)) return false;
    }
    paid = times.rate > trial_->rate * (1 + least);
  } else {
    const double most_lost = std::max(options_.stall_share, std::hypot(noise, trial_->noise));
    paid = times.rate > trial_->rate * (1 - most_lost);
  }
  const std::uint32_t before = trial_->before;
  trial_.reset();
  if (paid) {
    patience_ = options_.probe_steps;
    return false;
  }
  // Blocks that gained nothing would not gain by being a few less, unless layers waited for them.
  const bool stalled = stalled_steps() > 0;
  fail(options_.goal == Goal::capacity && !stalled ? before - 1 : frames_, stalled);
  change(before, ExpansionReason::unpaid);
  return true;
}

bool Expansion::give_back_unwanted() {
  if (options_.goal == Goal::memory) return false;
  if (steps_ - wanted_since_ < kLongWindows * options_.window_steps) return false;
  const std::uint32_t enough = most_that_hold(most_wanted_ * kSpare);
  most_wanted_ = 0;
  wanted_since_ = steps_;
  if (enough <= frames_) return false;
  change(enough, ExpansionReason::not_wanted);
  return true;
}

void Expansion::grow(const Times& times) {
  // One that cannot be judged yet goes on where layers turn out to take longer with more blocks.
  if (trial_ && !trial_->undecided &&
      reckoning_.compute_per_block() <= kOtherFill * trial_->compute_per_block)
    return;
  if (failure_ && (steps_ >= failure_->until || failure_->faster >= kFasterWindows)) {
    failure_.reset();
    // Where nothing streams, what is known of the link is old.
    if (frames_ == options_.layers) reckoning_.set_seconds_per_block(options_.seconds_per_block);
  }
  const double share = window_.median(
      [](const StepMeasure& s) { return s.seconds() > 0 ? s.stall_seconds / s.seconds() : 0; });
  if (share > options_.stall_share) return;
  const std::uint32_t target = fewest_to_try(times);
  if (target >= frames_) return;
  if (!trial_)
    trial_ = Trial{.before = frames_,
                   .rate = times.rate,
                   .noise = std::min(kMostNoise, window_.noise(rate_of)),
                   .used = times.used};
  trial_->undecided = false;
  trial_->compute_per_block = reckoning_.compute_per_block();
  change(target, ExpansionReason::wanted);
}

void Expansion::change(std::uint32_t frames, ExpansionReason reason) {
  if (reason != ExpansionReason::wanted) trial_.reset();
  frames_ = frames;
  reason_ = reason;
  unsure_ = calm_ = 0;
  window_.clear();
  changed_at_ = steps_;
}

void Expansion::fail(std::uint32_t frames, bool stalled) {
  if (failure_ && frames < failure_->frames) frames = failure_->frames;
  failure_ = Failure{frames, reckoning_.seconds_per_block(), steps_ + patience_, 0, stalled};
  patience_ = std::min(2 * patience_, kMostPatience * options_.probe_steps);
}

}  // namespace aqua::layer_swap
