// SPDX-License-Identifier: Apache-2.0
// SideStream is a stream of the library's on a runtime's device, for copies beside an engine's
// kernels, and puts the two in order: streams wait for each other, and no thread waits.
//
// Threads: one at a time. Owns: the stream. Must be gone before its runtime.
#pragma once

#include <memory>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

class AQUA_API SideStream {
 public:
  // The device's error where it has no stream left.
  [[nodiscard]] static Result<SideStream> create(Runtime& runtime);
  // One that was moved from may only be assigned to or destroyed.
  SideStream(SideStream&&) noexcept;
  SideStream& operator=(SideStream&&) noexcept;
  ~SideStream();  // waits for the stream's work

  [[nodiscard]] Stream stream() const noexcept;
  // Work posted to this stream from now on runs after the work posted to `earlier` so far.
  //   invalid_argument     `earlier` is no stream of the device, or another one on every thread
  //   failed_precondition  it is being captured into a graph; or this process is a fork
  [[nodiscard]] Result<void> run_after(Stream earlier);
  // Work posted to `later` from now on runs after the work posted to this stream so far. Errors:
  // as run_after()'s.
  [[nodiscard]] Result<void> run_before(Stream later);
  // Blocks this host thread until the work posted to the stream so far has ended, well or not.
  // failed_precondition: this process is a fork, where nothing runs.
  [[nodiscard]] Result<void> wait();

 private:
  struct AQUA_LOCAL Parts;
  explicit SideStream(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
