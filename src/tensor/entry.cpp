// SPDX-License-Identifier: Apache-2.0
// The engine's half of TensorEntry: pins, and the end. entry_move.cpp has the Migrator's.
#include "tensor/entry.hpp"

#include <algorithm>
#include <new>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

// True for a handle that is another stream on every thread, or no stream of the device: no event
// can stand for its work.
bool is_nameless(const device::Device& device, Stream stream) noexcept {
  try {
    const auto named = device.check_stream(stream);
    return !named.ok() && named.error().code == Code::invalid_argument;
  } catch (const std::bad_alloc&) {
    return false;  // no memory, not even for a message; recording the use then decides
  }
}

}  // namespace

TensorEntry::TensorEntry(Context& context, std::uint64_t id, TensorOptions options,
                         std::shared_ptr<TensorPlace> home, std::shared_ptr<TensorPlace> away)
    : context_(context),
      id_(id),
      options_(std::move(options)),
      home_(std::move(home)),
      away_(std::move(away)),
      dirty_(options_.bytes) {
  const MutexLock lock(mu_);
  here_ = away_ != nullptr ? away_ : home_;
  tier_.store(here_->tier(), std::memory_order_relaxed);
}

TensorEntry::~TensorEntry() {
  free();
}

Result<void> TensorEntry::check_pin(Stream stream, ByteRange range) const {
  if (range.offset >= options_.bytes || range.bytes == 0 ||
      (range.bytes != SIZE_MAX && range.bytes > options_.bytes - range.offset)) {
    const std::string length =
        range.bytes == SIZE_MAX ? std::string("all") : concat(range.bytes, " bytes");
    return Error{Code::invalid_argument,
                 concat("pin: ", length, " from ", range.offset, " on is not inside tensor ", id_,
                        " of ", options_.bytes, " bytes")};
  }
  if (auto named = context_.device.check_stream(stream); !named.ok()) {
    // Refused for a stream under capture: when the graph is launched, the tensor may be elsewhere.
    return Error{named.error().code, concat("pin: ", named.error().message)};
  }
  return {};
}

Result<void> TensorEntry::await_writable() {
  const auto deadline = std::chrono::steady_clock::now() + kWritePatience;
  while (phase_ == Phase::draining || phase_ == Phase::closing) {
    if (changed_.wait_until(mu_, deadline)) continue;
    return Error{Code::unavailable, concat("pin: tensor ", id_,
                                           " is moving, and pins on its old place have not "
                                           "been released for ",
                                           kWritePatience.count(), " s")};
  }
  return check_there();
}

Result<void> TensorEntry::check_there() const {
  if (freed_) return Error{Code::not_found, concat("pin: tensor ", id_, " is freed")};
  if (!lost()) return {};
  return Error{Code::data_loss,
               concat("pin: the bytes of tensor ", id_, " '", options_.name, "' are gone")};
}

Pin TensorEntry::take_pin(const std::shared_ptr<TensorPlace>& place, Access access, Stream stream,
                          ByteRange range) {
  if (place->read_pins + place->write_pins == 0) pinned_since_ = std::chrono::steady_clock::now();
  ++(access == Access::write ? place->write_pins : place->read_pins);
  Pin pin;
  pin.entry_ = shared_from_this();
  pin.place_ = place;
  pin.offset_ = range.offset;
  pin.bytes_ = std::min(range.bytes, options_.bytes - range.offset);
  pin.data_ = place->address() + range.offset;
  pin.access_ = access;
  pin.stream_ = stream;
  return pin;
}

Result<Pin> TensorEntry::pin(Access access, Stream stream, ByteRange range) {
  AQUA_TRY(check_pin(stream, range));
  const MutexLock lock(mu_);
  const bool writes = access == Access::write;
  AQUA_TRY(writes ? await_writable() : check_there());
  AQUA_TRY(here_->wait_uses(context_.device, stream, writes));
  return take_pin(here_, access, stream, range);
}

Result<TensorEntry::CopyPins> TensorEntry::pin_for_copy(Stream stream, ByteRange range) {
  AQUA_TRY(check_pin(stream, range));
  const MutexLock lock(mu_);
  AQUA_TRY(check_there());
  if (phase_ == Phase::draining) {
    return Error{Code::unavailable, concat("offload: tensor ", id_, " has moved, and pins on its ",
                                           "old place have not been released; call it again")};
  }
  // The round that is copied now reads here: behind it, it writes no older bytes over these.
  AQUA_TRY(here_->wait_uses(context_.device, stream, true));
  // The home may still be read by work from before the tensor last left it.
  if (to_ != nullptr) AQUA_TRY(to_->wait_uses(context_.device, stream, true));
  CopyPins pins;
  pins.here = take_pin(here_, Access::write, stream, range);
  if (to_ != nullptr) {
    pins.there = take_pin(to_, Access::write, stream, range);
    pins.here.round_ = pins.there.round_ = round_;
  }
  return pins;
}

// Records the last use before it drops the pin: a place without pins is taken to be described by
// its recorded uses alone.
void TensorEntry::unpin(const Pin& pin, Stream last_use) noexcept {
  PlaceList leaving;
  bool nudge = false;
  const bool nameless = is_nameless(context_.device, last_use);
  if (nameless) (void)context_.device.synchronize(last_use);  // failed work has ended as well
  {
    const MutexLock lock(mu_);
    TensorPlace& place = *pin.place_;
    const bool wrote = pin.access_ == Access::write;
    const auto recorded =
        nameless ? Result<void>() : place.record_use(context_.device, last_use, wrote);
    if (!recorded.ok() && recorded.error().code == Code::data_loss) lost_.store(true);
    --(wrote ? place.write_pins : place.read_pins);
    nudge = phase_ != Phase::stable || place.retired;
    // A copy that went to both places since the round was posted leaves nothing to copy again.
    if (wrote && to_ != nullptr && pin.round_ != round_) dirty_.mark(pin.offset_, pin.bytes_);
    if (place.read_pins + place.write_pins == 0) {
      if (place.retired) leaving_.push(pin.place_);
      if (draining_ == pin.place_) {
        draining_.reset();
        phase_ = Phase::stable;
        changed_.notify_all();
      }
    }
    leaving = std::move(leaving_);
  }
  free_when_quiet(std::move(leaving));
  if (nudge) context_.nudge();
}

void TensorEntry::free() noexcept {
  PlaceList leaving;
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
  free_when_quiet(std::move(leaving));
  context_.on_free(*this);
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

// Makes the tensor leave this place, which is freed after its last pin and its last work.
void TensorEntry::retire(std::shared_ptr<TensorPlace>& place) {
  if (place == nullptr) return;
  place->retired = true;
  if (place->read_pins + place->write_pins == 0) leaving_.push(place);
  place.reset();
}

void TensorEntry::free_when_quiet(PlaceList leaving) {
  while (auto place = leaving.pop()) context_.deferred.add(std::move(place));
}

}  // namespace aqua
