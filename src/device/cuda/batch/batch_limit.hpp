// SPDX-License-Identifier: Apache-2.0
// BatchLimit gives batched copies (cuMemcpyBatchAsync) to the driver, few copies a command and few
// commands at a time, and notices when a command hangs. Drivers were seen to crash on tens of
// thousands of copies in one command, and to hang when commands follow each other (vLLM issue
// 49276). After the first one that hangs the driver gets no more of them.
//
// A command hangs when the call has not returned for as long as the patience allows (also because
// its stream's queue is full), or when the work before it in its stream has ended for so long and
// the command has not. Both are noticed only by post() and by hangs().
//
// Threads: any. All calls but the constructor are made inside a CudaContext::Scope.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/mutex.hpp"
#include "device/copy_tally.hpp"
#include "device/cuda/context.hpp"

namespace aqua::device {

class BatchLimit {
 public:
  static constexpr std::size_t kCopies = 4096;  // the most of one command
  // The most that have not ended: of commands, and of copies in all of them.
  static constexpr std::size_t kCommands = 32;
  static constexpr std::size_t kCopiesInFlight = 8 * kCopies;
  // Copies that are unordered among themselves; kCopies at most, as many of each.
  struct Copies {
    std::span<CUdeviceptr> dst, src;
    std::span<std::size_t> bytes;
  };

  BatchLimit(std::shared_ptr<const CudaContext> context, std::chrono::milliseconds patience)
      : context_(std::move(context)), patience_(patience) {}
  ~BatchLimit();
  BatchLimit(const BatchLimit&) = delete;
  BatchLimit& operator=(const BatchLimit&) = delete;

  // Posts one command. Nothing when it is queued; else nothing of it is, for the reason returned,
  // `unsupported` after one that hung.
  [[nodiscard]] std::optional<Fallback> post(const Copies& copies, CUstream stream);
  // Whether a command was seen to hang, looking at those that have not ended: a hundred times in
  // the patience at most, so that it may be asked with each transfer.
  [[nodiscard]] bool hangs();
  // As hangs(), without asking the driver.
  [[nodiscard]] bool seen_to_hang() const noexcept { return hangs_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { idle, calling, queued, lost };
  struct Command {
    CUevent before = nullptr;  // in the stream, around the command
    CUevent after = nullptr;
    State state = State::idle;                 // lost: its end cannot be seen; never used again
    std::size_t copies = 0;                    // that count
    std::optional<Clock::time_point> began{};  // when the call did, or the command was seen to
  };
  [[nodiscard]] CUresult call(const Copies& copies, CUstream stream) const;
  void look() AQUA_REQUIRES(mu_);
  [[nodiscard]] std::size_t in_flight() const AQUA_REQUIRES(mu_);  // copies
  // Whether the command is over. Notes when it began.
  [[nodiscard]] bool ended(Command& command) const AQUA_REQUIRES(mu_);
  [[nodiscard]] bool make_events(Command& command) const AQUA_REQUIRES(mu_);

  const std::shared_ptr<const CudaContext> context_;
  const std::chrono::milliseconds patience_;
  std::atomic<bool> hangs_{false};
  Mutex mu_;
  Clock::time_point next_look_ AQUA_GUARDED_BY(mu_){};
  std::array<Command, kCommands> commands_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::device
