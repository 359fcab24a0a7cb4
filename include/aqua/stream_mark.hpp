// SPDX-License-Identifier: Apache-2.0
// StreamMark is a point in a stream, to be awaited by a thread. The device keeps its time; since()
// is the time between two. It puts nothing in order.
//
// Threads: one at a time. Owns: the device's event. Must be gone before its runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

class AQUA_API StreamMark {
 public:
  [[nodiscard]] static Result<StreamMark> create(Runtime& runtime);
  // One that is set. Errors: also set()'s.
  [[nodiscard]] static Result<StreamMark> create(Runtime& runtime, Stream stream);
  // One that was moved from may only be assigned to or destroyed.
  StreamMark(StreamMark&&) noexcept;
  StreamMark& operator=(StreamMark&&) noexcept;
  ~StreamMark();

  // Marks the end of the work posted to `stream` so far, in place of what was marked before.
  //   invalid_argument     it is no stream of the device, or another one on every thread
  //   failed_precondition  it is being captured into a graph; or this process is a fork
  [[nodiscard]] Result<void> set(Stream stream);
  // Blocks this host thread until what was marked is complete; at once where nothing was.
  //   data_loss            work before it on its stream failed: memory or the device has died
  //   failed_precondition  this process is a fork
  [[nodiscard]] Result<void> wait() const;
  // The number of the latest work before it that failed on its stream, also where something else
  // has told of it (wait() tells of each failure once, and so does a Ticket). Numbers are never
  // given twice in a process, and grow along a stream. 0: none has, or the mark is not reached.
  [[nodiscard]] std::uint64_t latest_failure() const noexcept;
  // The device's time since `earlier` was reached; negative where that was reached later. Waits for
  // nothing.
  //   unavailable          one of them is not reached yet: ask again
  //   failed_precondition  one was never set
  //   invalid_argument     they are of two devices
  [[nodiscard]] Result<std::chrono::nanoseconds> since(const StreamMark& earlier) const;

 private:
  struct AQUA_LOCAL Parts;
  explicit StreamMark(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
