// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/batch/batch_limit.hpp"

#include <algorithm>

namespace aqua::device {

BatchLimit::~BatchLimit() {
  const auto scope = context_->try_enter();
  if (!scope) return;
  const MutexLock lock(mu_);
  for (const Command& command : commands_) {
    for (CUevent event : {command.before, command.after}) {
      if (event != nullptr) (void)context_->driver().EventDestroy(event);
    }
  }
}

// The call is made without the lock, so that others see it hang.
std::optional<Fallback> BatchLimit::post(const Copies& copies, CUstream stream) {
  const CudaDriver& driver = context_->driver();
  Command* command = nullptr;
  CUevent before = nullptr;
  CUevent after = nullptr;
  {
    const MutexLock lock(mu_);
    look();
    if (hangs_.load()) return Fallback::unsupported;
    const auto idle = std::ranges::find(commands_, State::idle, &Command::state);
    if (idle == commands_.end() || in_flight() + copies.bytes.size() > kCopiesInFlight)
      return Fallback::full;
    if (!make_events(*idle)) return Fallback::refused;
    command = &*idle;
    command->state = State::calling;
    command->copies = copies.bytes.size();
    command->began = Clock::now();
    before = command->before;
    after = command->after;
  }
  CUresult called = driver.EventRecord(before, stream);
  if (called == CUDA_SUCCESS) called = call(copies, stream);
  const bool posted = called == CUDA_SUCCESS;
  const bool seen = posted && driver.EventRecord(after, stream) == CUDA_SUCCESS;
  const MutexLock lock(mu_);
  command->began.reset();
  command->state = seen ? State::queued : posted ? State::lost : State::idle;
  if (!seen) command->copies = 0;
  return posted ? std::nullopt : std::optional(Fallback::refused);
}

bool BatchLimit::hangs() {
  if (hangs_.load()) return true;
  const MutexLock lock(mu_);
  if (const auto now = Clock::now(); now >= next_look_) {
    next_look_ = now + patience_ / 100;
    look();
  }
  return hangs_.load();
}

CUresult BatchLimit::call(const Copies& copies, CUstream stream) const {
  CUmemcpyAttributes attributes{};
  // Any other order may read a source before earlier work of the stream has written it.
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  std::size_t failed = 0;
  return context_->driver().MemcpyBatchAsync(copies.dst.data(), copies.src.data(),
                                             copies.bytes.data(), copies.bytes.size(), &attributes,
                                             &first, 1, &failed, stream);
}

void BatchLimit::look() {
  const auto now = Clock::now();
  const auto late = [&](const Command& command) {
    return command.began && now - *command.began > patience_;
  };
  // First what is told without the driver, which may be stuck.
  for (const Command& command : commands_) {
    if (command.state == State::calling && late(command)) return hangs_.store(true);
  }
  for (Command& command : commands_) {
    if (command.state == State::queued && ended(command)) {
      command.state = State::idle;
      command.copies = 0;
    }
    if (command.state == State::queued && late(command)) hangs_.store(true);
  }
}

std::size_t BatchLimit::in_flight() const {
  std::size_t copies = 0;
  for (const Command& command : commands_) copies += command.copies;
  return copies;
}

bool BatchLimit::ended(Command& command) const {
  const CudaDriver& driver = context_->driver();
  if (driver.EventQuery(command.after) != CUDA_ERROR_NOT_READY) return true;
  if (!command.began && driver.EventQuery(command.before) != CUDA_ERROR_NOT_READY)
    command.began = Clock::now();
  return false;
}

bool BatchLimit::make_events(Command& command) const {
  for (CUevent* const event : {&command.before, &command.after}) {
    if (*event == nullptr &&
        context_->driver().EventCreate(event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
      return false;
    }
  }
  return true;
}

}  // namespace aqua::device
