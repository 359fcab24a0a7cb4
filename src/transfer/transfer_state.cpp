// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer_state.hpp"

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"

namespace aqua::transfer {
namespace {

// For where work is queued already, and nothing may throw any more.
Error refused_post(const Error& why) noexcept {
  try {
    return Error{why.code, concat("post: ", why.message)};
  } catch (const std::bad_alloc&) {
    return Error{why.code, "no memory"};  // so short that it needs none
  }
}

// For destructors, and for work that has ended.
Error cancelled_transfer(std::size_t bytes) noexcept {
  try {
    return Error{Code::cancelled, concat("transfer of ", bytes, " bytes was cancelled")};
  } catch (const std::bad_alloc&) {
    return Error{Code::cancelled, "cancelled"};
  }
}

}  // namespace

TransferState::TransferState(device::Device& device, Parts parts)
    : device_(device),
      choice_(parts.choice),
      layers_(parts.layers),
      bytes_(parts.bytes),
      cancel_(parts.program.cancel),
      parts_(std::move(parts)) {}

// A ticket could never tell how far a graph's launches are, staging would have to stay lent
// for as long as the graph lives, and the tensor would have to stay where it is.
Result<void> TransferState::check_stream(Stream stream) const {
  auto named = device_.check_stream(stream);
  if (named.ok()) return {};
  return Error{named.error().code, concat("post: ", named.error().message)};
}

Result<void> TransferState::post(Stream stream) {
  const TraceRange range("aqua post");
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  if (phase_ != Phase::prepared) {
    return Error{Code::failed_precondition, "post: this transfer was posted or abandoned before"};
  }
  if (cancelled_) {
    finish(spent);
    return *error_;
  }
  const StagingPair* const pair = parts_.staging.get();
  const Stream side = pair != nullptr ? *pair->stream : stream;
  phase_ = Phase::running;
  Result<void> queued;
  try {
    queued = run(device_, parts_.program, stream, side, parts_.max_sms);
    if (queued.ok()) queued = device_.record(*parts_.end, stream);
  } catch (const std::bad_alloc&) {  // a part of it may be queued, as with any refusal
    queued = Error{Code::resource_exhausted, "no memory"};
  }
  parts_.program.table.reset();  // its place is for others, once the work is over
  if (!queued.ok()) {
    refuse(std::move(queued).error(), stream);
    return refused_post(*error_);
  }
  if (parts_.program.groups.empty()) finish(spent);
  return {};
}

// What was queued before the refusal is skipped unless it has begun; these events tell
// when it has ended.
void TransferState::refuse(Error error, Stream stream) noexcept {
  cancel_->store(true);
  error_ = std::move(error);
  refused_ = true;
  stream_ = stream;
  record_quiet();
}

// What is refused for now, or finds no memory, is recorded later, and then stands for more work.
void TransferState::record_quiet() noexcept {
  const auto recorded = [this](device::Event& event, Stream stream) {
    auto outcome = device_.check_stream(stream);
    if (outcome.ok()) outcome = device_.record(event, stream);
    return outcome.ok() || device::nothing_left(outcome.error().code);
  };
  try {
    quiet_recorded_ = recorded(*parts_.quiet[0], stream_);
    if (const StagingPair* const pair = parts_.staging.get())
      quiet_recorded_ &= recorded(*parts_.quiet[1], *pair->stream);
  } catch (const std::bad_alloc&) {
    quiet_recorded_ = false;
  }
}

void TransferState::abandon() {
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  if (phase_ != Phase::prepared) return;
  cancelled_ = true;
  finish(spent);
}

void TransferState::finish(std::optional<Parts>& spent) noexcept {
  phase_ = Phase::over;
  if (!error_ && cancelled_) error_ = cancelled_transfer(bytes_);
  if (!error_) arrived_layers_ = layers_;
  spent.emplace(std::move(parts_));
}

Result<bool> TransferState::reached(const device::Event& event) {
  auto answer = device_.query(event);
  if (answer.ok() || answer.error().code != Code::data_loss) return answer;
  if (!error_) error_ = std::move(answer).error();
  cancel_->store(true);  // the rest is of no use any more
  return true;
}

Result<bool> TransferState::groups_reached() {
  const auto& groups = parts_.program.groups;
  for (; arrived_groups_ < groups.size(); ++arrived_groups_) {
    const LayerGroup& group = groups[arrived_groups_];
    for (const device::Event* event : group.arrived) {
      if (event == nullptr) continue;
      AQUA_ASSIGN(const bool there, reached(*event));
      if (!there) return false;
    }
    // Skipped batches reach their events as well, so a cancelled layer proves nothing.
    if (!error_ && !cancelled_) arrived_layers_ = group.end_layer;
  }
  return true;
}

Result<bool> TransferState::quiet_after_refusal() {
  if (waited_out_) return true;
  if (!quiet_recorded_) record_quiet();
  if (!quiet_recorded_) return false;
  for (const auto& event : parts_.quiet) {
    if (!event) continue;
    auto there = reached(*event);
    if (!there.ok()) quiet_recorded_ = false;  // a capture has the event: it is recorded anew
    if (!there.ok() || !*there) return there;
  }
  return true;
}

// For whoever may block: where no event can be had, the streams themselves are waited for.
void TransferState::wait_after_refusal() {
  Stream caller;
  std::optional<Stream> side;
  {
    const MutexLock lock(mu_);
    if (phase_ != Phase::running || !refused_ || quiet_recorded_) return;
    caller = stream_;
    if (const StagingPair* const pair = parts_.staging.get()) side = *pair->stream;
  }
  const auto ended = [this](Stream stream) {
    if (!device_.check_stream(stream).ok()) return false;
    const auto through = device_.synchronize(stream);
    return through.ok() || device::nothing_left(through.error().code);
  };
  if (!ended(caller) || (side && !ended(*side))) return;
  const MutexLock lock(mu_);
  waited_out_ = true;
}

Result<void> TransferState::ask(std::optional<Parts>& spent) {
  if (phase_ != Phase::running) return {};
  AQUA_ASSIGN(const bool quiet, refused_ ? quiet_after_refusal() : groups_reached());
  if (quiet) finish(spent);
  return {};
}

bool TransferState::advance() {
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  const auto asked = ask(spent);  // an unanswered question: still running, as far as we know
  return asked.ok() && phase_ == Phase::over;
}

bool TransferState::is_over() {
  const MutexLock lock(mu_);
  return phase_ == Phase::over;
}

bool TransferState::is_running() {
  const MutexLock lock(mu_);
  return phase_ == Phase::running;
}

Result<bool> TransferState::done() {
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  AQUA_TRY(ask(spent));
  if (phase_ != Phase::over) return false;
  if (error_) return *error_;
  return true;
}

Result<bool> TransferState::layer_done(unsigned layer) {
  if (layer >= layers_) {
    return Error{Code::invalid_argument, concat("layer_done: layer ", layer, " of ", layers_)};
  }
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  AQUA_TRY(ask(spent));
  if (layer < arrived_layers_) return true;
  if (phase_ == Phase::over) return *error_;
  return false;
}

Result<void> TransferState::stream_wait(Stream stream, unsigned layer) {
  if (layer >= layers_) {
    return Error{Code::invalid_argument, concat("stream_wait: layer ", layer, " of ", layers_)};
  }
  std::optional<Parts> spent;
  const MutexLock lock(mu_);
  if (phase_ == Phase::prepared) {
    return Error{Code::failed_precondition, "stream_wait: the transfer was not posted"};
  }
  AQUA_TRY(ask(spent));
  if (phase_ == Phase::running) {  // the device may be gone afterwards
    if (auto named = device_.check_stream(stream); !named.ok())
      return Error{named.error().code, concat("stream_wait: ", named.error().message)};
  }
  if (layer < arrived_layers_) return {};
  if (error_) return *error_;
  // The group that reports the layer; groups before it are behind it on the same lanes.
  for (const LayerGroup& group : parts_.program.groups) {
    if (layer >= group.end_layer) continue;
    for (const device::Event* event : group.arrived) {
      if (event != nullptr) AQUA_TRY(device_.wait_event(stream, *event));
    }
    return {};
  }
  return {};
}

Result<void> TransferState::wait() {
  std::shared_ptr<device::Event> end;
  {
    const MutexLock lock(mu_);
    if (phase_ == Phase::prepared) {
      return Error{Code::failed_precondition, "wait: the transfer was not posted"};
    }
    if (!refused_) end = parts_.end;  // null once it is over
  }
  if (end) {
    const MutexLock lock(wait_mu_);
    auto through = device_.synchronize(*end);
    if (!through.ok() && through.error().code != Code::data_loss) return through;
  }
  for (;;) {  // more than once only after a refusal
    AQUA_ASSIGN(const bool finished, done());
    if (finished) return {};
    wait_after_refusal();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void TransferState::cancel() noexcept {
  const MutexLock lock(mu_);
  if (phase_ == Phase::over) return;
  cancelled_ = true;
  cancel_->store(true);
}

}  // namespace aqua::transfer
