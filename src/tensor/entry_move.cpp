// SPDX-License-Identifier: Apache-2.0
// The Migrator's half of TensorEntry: how it moves, and how a move ends.
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "tensor/entry.hpp"

namespace aqua {

Result<void> TensorEntry::begin_move(std::shared_ptr<TensorPlace> to, Stream stream) {
  PlaceList leaving;
  auto begun = try_begin_move(std::move(to), stream, leaving);
  free_when_quiet(std::move(leaving));
  return begun;
}

Result<void> TensorEntry::try_begin_move(std::shared_ptr<TensorPlace> to, Stream stream,
                                         PlaceList& leaving) {
  const MutexLock lock(mu_);
  if (freed_ || lost())
    return Error{Code::not_found, concat("move: tensor ", id_, " is freed or lost")};
  if (to == nullptr) to = home_;
  if (to == nullptr || to == here_ || phase_ != Phase::stable) {
    return Error{Code::failed_precondition,
                 concat("move: tensor ", id_, " has no other place to go to now")};
  }
  if (round_done_ == nullptr) {
    AQUA_ASSIGN(round_done_, context_.device.create_event());
  }
  to_ = std::move(to);
  phase_ = Phase::copying;
  rounds_ = 0;
  alone_ = false;
  dirty_.clear();
  if (here_->write_pins > 0) {  // whoever writes now would do so under the copy
    dirty_.mark(0, options_.bytes);
    return {};
  }
  rounds_ = 1;
  auto posted = post_round({{to_->address(), here_->address(), options_.bytes}}, stream);
  if (!posted.ok()) end_move();  // the copy itself may have been posted
  leaving = std::move(leaving_);
  return posted;
}

Result<void> TensorEntry::post_round(std::vector<device::CopySegment> segments, Stream stream) {
  const TraceRange range("aqua migrate");
  ++round_;
  device::Device& device = context_.device;
  AQUA_TRY(here_->wait_uses(device, stream, false));
  AQUA_TRY(to_->wait_uses(device, stream, true));
  AQUA_TRY(device.copy(
      std::make_shared<const std::vector<device::CopySegment>>(std::move(segments)), stream));
  // First what keeps the places from being used anew: the rest may be refused.
  auto read = here_->record_use(device, stream, false);
  auto written = to_->record_use(device, stream, true);
  AQUA_TRY(device.record(*round_done_, stream));
  AQUA_TRY(std::move(read));
  return written;
}

// Flips only when the last round is complete, nothing has been written since, and no write pin is
// left that could write behind the copy.
TensorEntry::Round TensorEntry::step_move(Stream stream, bool pressing) {
  PlaceList leaving;
  Round outcome = Round::gone;
  {
    const MutexLock lock(mu_);
    if (freed_ || to_ == nullptr) return Round::gone;
    const bool evacuating = to_ == home_;
    const auto done = rounds_ == 0 ? true : context_.device.query(*round_done_);
    if (!done.ok()) {
      // Evacuating, the source has died. Promoting, the new place has: stay at home.
      if (evacuating && !alone_) return Round::suspect;
      if (evacuating) lost_.store(true);
      end_move();
    } else if (!*done) {
      return Round::running;
    } else if (here_->write_pins > 0 || (!evacuating && here_->read_pins > 0)) {
      if (evacuating && (pressing || rounds_ > kFreeRounds)) {
        phase_ = Phase::closing;
      } else if (!evacuating && phase_ == Phase::closing) {
        phase_ = Phase::copying;  // a promotion must not make writers wait for readers
        changed_.notify_all();
      }
      return Round::pinned;
    } else if (dirty_.any()) {
      alone_ = false;
      if (++rounds_ > kFreeRounds || pressing) phase_ = Phase::closing;
      if (post_round(dirty_.take(to_->address(), here_->address()), stream).ok())
        return Round::again;
      end_move();
    } else {
      flip();
      outcome = Round::moved;
    }
    leaving = std::move(leaving_);
  }
  free_when_quiet(std::move(leaving));
  return outcome;
}

Result<void> TensorEntry::repeat_round(Stream alone) {
  const MutexLock lock(mu_);
  if (freed_ || to_ == nullptr)
    return Error{Code::not_found, concat("move: tensor ", id_, " does not move")};
  dirty_.clear();  // all of it is copied, after every write released so far
  auto posted = post_round({{to_->address(), here_->address(), options_.bytes}}, alone);
  // Refused for now: the bytes stay suspect, and it is tried again.
  alone_ = posted.ok() || posted.error().code == Code::data_loss;
  return posted;
}

// Pins taken from here on get the new place. Readers of the old one keep it until they release it.
void TensorEntry::flip() {
  step("flip");
  const std::shared_ptr<TensorPlace> old = std::move(here_);
  here_ = std::move(to_);
  to_.reset();
  tier_.store(here_->tier(), std::memory_order_relaxed);
  phase_ = Phase::stable;
  if (old->read_pins > 0) {
    phase_ = Phase::draining;
    draining_ = old;
  }
  if (here_ != home_) away_ = here_;
  if (old != home_) {
    std::shared_ptr<TensorPlace> leaver = old;
    if (away_ == old) away_.reset();
    retire(leaver);
  }
  changed_.notify_all();
}

// Ends the move without a flip. The copy may run still: the place is freed when it is quiet.
void TensorEntry::end_move() {
  if (to_ != nullptr && to_ != home_) retire(to_);
  to_.reset();
  phase_ = Phase::stable;
  changed_.notify_all();
}

void TensorEntry::abandon_move() {
  PlaceList leaving;
  {
    const MutexLock lock(mu_);
    if (to_ != nullptr) end_move();
    leaving = std::move(leaving_);
  }
  free_when_quiet(std::move(leaving));
}

void TensorEntry::wait_round() {
  device::Event* event = nullptr;
  {
    const MutexLock lock(mu_);
    event = round_done_.get();  // kept for the life of the entry; recorded by this thread only
  }
  if (event != nullptr) (void)context_.device.synchronize(*event);  // step_move() reads the outcome
}

bool TensorEntry::round_over() {
  const MutexLock lock(mu_);
  if (rounds_ == 0) return true;
  const auto done = context_.device.query(*round_done_);
  return !done.ok() || *done;
}

bool TensorEntry::lose() {
  PlaceList leaving;
  {
    const MutexLock lock(mu_);
    // `here_` is empty once the tensor is freed (nobody misses its bytes) or was given up.
    // lost() would be the wrong question: a failed copy or release sets it before the owner is
    // told.
    if (here_ == nullptr) return false;
    lost_.store(true);
    if (to_ != nullptr) end_move();
    tier_.store(Tier::host, std::memory_order_relaxed);
    here_.reset();
    retire(away_);  // pins held now keep it until they are released
    leaving = std::move(leaving_);
    changed_.notify_all();
  }
  free_when_quiet(std::move(leaving));
  return true;
}

void TensorEntry::give_home(std::shared_ptr<TensorPlace> home) {
  const MutexLock lock(mu_);
  if (home_ == nullptr && !freed_) home_ = std::move(home);
}

}  // namespace aqua
