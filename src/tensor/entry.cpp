#include "tensor/entry.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"

namespace aqua {

TensorEntry::TensorEntry(Context& context, std::uint64_t id, TensorOptions options,
                         std::shared_ptr<Placement> home, std::shared_ptr<Placement> away)
    : context_(context),
      id_(id),
      options_(std::move(options)),
      home_(std::move(home)),
      away_(std::move(away)) {
  const MutexLock lock(mu_);
  here_ = away_ != nullptr ? away_ : home_;
  tier_.store(here_->tier(), std::memory_order_relaxed);
}

TensorEntry::~TensorEntry() {
  free();
}

Result<Pin> TensorEntry::pin(Access access, Stream stream, ByteRange range) {
  if (range.offset >= options_.bytes || range.bytes == 0 ||
      (range.bytes != SIZE_MAX && range.bytes > options_.bytes - range.offset)) {
    return Error{Code::invalid_argument,
                 concat("pin: [", range.offset, ", +", range.bytes, ") is not inside tensor ", id_,
                        " of ", options_.bytes, " bytes")};
  }
  if (context_.device.capturing(stream)) {
    return Error{Code::failed_precondition,
                 concat("pin: the stream is being captured into a graph; the tensor's address may "
                        "be another one when the graph is launched")};
  }
  const MutexLock lock(mu_);
  if (access == Access::write && (phase_ == Phase::closing || phase_ == Phase::draining)) {
    const auto deadline = std::chrono::steady_clock::now() + kWritePatience;
    while (phase_ == Phase::closing || phase_ == Phase::draining) {
      if (!changed_.wait_until(mu_, deadline)) {
        return Error{Code::unavailable, concat("pin: tensor ", id_,
                                               " is moving, and pins on its old place have not "
                                               "been released for ",
                                               kWritePatience.count(), " s")};
      }
    }
  }
  if (freed_) return Error{Code::not_found, concat("pin: tensor ", id_, " is freed")};
  if (lost())
    return Error{Code::data_loss,
                 concat("pin: the bytes of tensor ", id_, " '", options_.name, "' are gone")};
  AQUA_TRY(here_->wait_uses(context_.device, stream, access == Access::write));

  unsigned& pins = access == Access::write ? here_->write_pins : here_->read_pins;
  if (here_->read_pins + here_->write_pins == 0) pinned_since_ = std::chrono::steady_clock::now();
  ++pins;
  Pin pin;
  pin.entry_ = shared_from_this();
  pin.placement_ = here_;
  pin.offset_ = range.offset;
  pin.bytes_ = std::min(range.bytes, options_.bytes - range.offset);
  pin.data_ = here_->address() + range.offset;
  pin.access_ = access;
  pin.stream_ = stream;
  return pin;
}

void TensorEntry::unpin(const Pin& pin, Stream last_use) noexcept {
  PlacementList leaving;
  bool nudge = false;
  {
    const MutexLock lock(mu_);
    Placement& place = *pin.placement_;
    const bool wrote = pin.access_ == Access::write;
    const auto recorded = place.record_use(context_.device, last_use, wrote);
    // A stream that is no more has no work left; any other refusal means that the device died.
    if (!recorded.ok() && recorded.error().code != Code::invalid_argument) lost_.store(true);
    --(wrote ? place.write_pins : place.read_pins);
    nudge = phase_ != Phase::stable || place.retired;
    if (wrote && to_ != nullptr) mark_dirty(pin.offset_, pin.bytes_);
    if (place.read_pins + place.write_pins == 0) {
      if (place.retired) leaving_.push(pin.placement_);
      if (draining_ == pin.placement_) {
        draining_.reset();
        phase_ = Phase::stable;
        changed_.notify_all();
      }
    }
    leaving = std::move(leaving_);
  }
  send_to_limbo(std::move(leaving));
  if (nudge) context_.nudge();
}

void TensorEntry::free() noexcept {
  PlacementList leaving;
  {
    const MutexLock lock(mu_);
    if (freed_) return;
    freed_ = true;
    // A move in progress sees it at its next step; its copy is among the recorded uses.
    if (to_ != nullptr && to_ != home_) retire(to_);
    to_.reset();
    here_.reset();
    draining_.reset();
    phase_ = Phase::stable;
    retire(away_);
    retire(home_);
    changed_.notify_all();
    leaving = std::move(leaving_);
  }
  send_to_limbo(std::move(leaving));
  context_.on_free(*this);
}

Result<void> TensorEntry::begin_move(std::shared_ptr<Placement> to, Stream stream) {
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
  dirty_.assign((options_.bytes + kChunkBytes - 1) / kChunkBytes, false);
  any_dirty_ = false;
  // Write pins held now may be changing bytes under the copy; they mark them when released.
  auto posted = post_round({{to_->address(), here_->address(), options_.bytes}}, stream);
  if (!posted.ok()) {
    to_.reset();
    phase_ = Phase::stable;
  }
  return posted;
}

Result<void> TensorEntry::post_round(Segments segments, Stream stream) {
  const TraceRange range("aqua migrate");
  device::Device& device = context_.device;
  AQUA_TRY(here_->wait_uses(device, stream, false));
  AQUA_TRY(to_->wait_uses(device, stream, true));
  AQUA_TRY(device.copy(std::make_shared<const Segments>(std::move(segments)), stream));
  AQUA_TRY(device.record(*round_done_, stream));
  AQUA_TRY(here_->record_use(device, stream, false));
  return to_->record_use(device, stream, true);
}

TensorEntry::Round TensorEntry::step_move(Stream stream, bool pressing) {
  PlacementList leaving;
  Round outcome = Round::gone;
  {
    const MutexLock lock(mu_);
    if (freed_ || to_ == nullptr) return Round::gone;
    const bool evacuating = to_ == home_;
    const auto done = context_.device.query(*round_done_);
    if (!done.ok()) {
      // Evacuating, the source has died. Promoting, the new place has: stay at home.
      if (evacuating && !alone_) return Round::suspect;
      if (evacuating) lost_.store(true);
      end_move();
    } else if (!*done) {
      return Round::running;
    } else if (here_->write_pins > 0 || (!evacuating && here_->read_pins > 0)) {
      if (evacuating && (pressing || rounds_ >= kFreeRounds)) {
        phase_ = Phase::closing;
      } else if (!evacuating && phase_ == Phase::closing) {
        phase_ = Phase::copying;  // a promotion must not make writers wait for readers
        changed_.notify_all();
      }
      return Round::pinned;
    } else if (any_dirty_) {
      alone_ = false;
      if (++rounds_ >= kFreeRounds || pressing) phase_ = Phase::closing;
      if (post_round(take_dirty(), stream).ok()) return Round::again;
      end_move();
    } else {
      flip();
      outcome = Round::moved;
    }
    leaving = std::move(leaving_);
  }
  send_to_limbo(std::move(leaving));
  return outcome;
}

Result<void> TensorEntry::repeat_round(Stream alone) {
  const MutexLock lock(mu_);
  if (freed_ || to_ == nullptr)
    return Error{Code::not_found, concat("move: tensor ", id_, " does not move")};
  alone_ = true;
  dirty_.assign(dirty_.size(), false);  // all of it is copied, after every write released so far
  any_dirty_ = false;
  return post_round({{to_->address(), here_->address(), options_.bytes}}, alone);
}

void TensorEntry::flip() {
  step("flip");
  const std::shared_ptr<Placement> old = std::move(here_);
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
    std::shared_ptr<Placement> leaver = old;
    if (away_ == old) away_.reset();
    retire(leaver);
  }
  changed_.notify_all();
}

// The move ends without a flip.
void TensorEntry::end_move() {
  if (to_ != nullptr && to_ != home_) retire(to_);
  to_.reset();
  phase_ = Phase::stable;
  changed_.notify_all();
}

void TensorEntry::abandon_move() {
  PlacementList leaving;
  {
    const MutexLock lock(mu_);
    if (to_ != nullptr) end_move();
    leaving = std::move(leaving_);
  }
  send_to_limbo(std::move(leaving));
}

void TensorEntry::wait_round() {
  device::Event* event = nullptr;
  {
    const MutexLock lock(mu_);
    event = round_done_.get();  // kept for the life of the entry; recorded by this thread only
  }
  if (event != nullptr) (void)context_.device.synchronize(*event);  // step_move() reads the outcome
}

void TensorEntry::lose() {
  PlacementList leaving;
  {
    const MutexLock lock(mu_);
    if (freed_) return;  // nobody misses them
    lost_.store(true);
    if (to_ != nullptr) end_move();
    tier_.store(Tier::host, std::memory_order_relaxed);
    here_.reset();
    retire(away_);  // pins held now keep it until they are released
    leaving = std::move(leaving_);
    changed_.notify_all();
  }
  send_to_limbo(std::move(leaving));
}

void TensorEntry::give_home(std::shared_ptr<Placement> home) {
  const MutexLock lock(mu_);
  if (home_ == nullptr && !freed_) home_ = std::move(home);
}

TensorEntry::Pins TensorEntry::pins() const {
  const MutexLock lock(mu_);
  Pins pins;
  for (const auto& place : {here_, draining_}) {
    if (place == nullptr) continue;
    pins.readers += place->read_pins;
    pins.writers += place->write_pins;
  }
  pins.since = pinned_since_;
  return pins;
}

bool TensorEntry::has_home() const {
  const MutexLock lock(mu_);
  return freed_ || home_ != nullptr;
}

void TensorEntry::mark_dirty(std::size_t offset, std::size_t bytes) {
  for (std::size_t chunk = offset / kChunkBytes; chunk <= (offset + bytes - 1) / kChunkBytes;
       ++chunk) {
    dirty_[chunk] = true;
  }
  any_dirty_ = true;
}

TensorEntry::Segments TensorEntry::take_dirty() {
  Segments segments;
  for (std::size_t chunk = 0; chunk < dirty_.size(); ++chunk) {
    if (!dirty_[chunk]) continue;
    const std::size_t offset = chunk * kChunkBytes;
    const std::size_t bytes = std::min(kChunkBytes, options_.bytes - offset);
    const bool joins = !segments.empty() &&
                       segments.back().src + segments.back().bytes == here_->address() + offset;
    if (joins) {
      segments.back().bytes += bytes;
    } else {
      segments.push_back({to_->address() + offset, here_->address() + offset, bytes});
    }
  }
  dirty_.assign(dirty_.size(), false);
  any_dirty_ = false;
  return segments;
}

// The tensor leaves this place; it is freed after its last pin and its last work.
void TensorEntry::retire(std::shared_ptr<Placement>& placement) {
  if (placement == nullptr) return;
  placement->retired = true;
  if (placement->read_pins + placement->write_pins == 0) leaving_.push(placement);
  placement.reset();
}

void TensorEntry::send_to_limbo(PlacementList leaving) {
  while (auto placement = leaving.pop()) context_.limbo.take(std::move(placement));
}

}  // namespace aqua
