// SPDX-License-Identifier: Apache-2.0
// Calls on an object that is for one thread at a time, through the C ABI, which is for many.
#pragma once

#include "base/mutex.hpp"
#include "base/try.hpp"
#include "capi/call.hpp"

namespace aqua::capi {

// What such an object is made of besides itself.
struct LockedObject {
  Mutex lock{};
  // An exception has ended a call in its middle, and nobody knows what it had changed.
  bool interrupted AQUA_GUARDED_BY(lock) = false;
};

// aborted after an interruption. `what` names the call.
[[nodiscard]] inline Result<void> check_whole(const char* what, const LockedObject& locked)
    AQUA_REQUIRES(locked.lock) {
  if (!locked.interrupted) return {};
  return Error{Code::aborted, concat(what, ": memory ran out in the middle of an earlier call; ",
                                     "free this object, and make another one")};
}

// Runs ask(locked) as the only call: one that changes nothing, or whose steps are all done or not,
// so that it may be made again after an exception.
template <typename Locked, typename Ask>
[[nodiscard]] Result<void> ask_locked(const char* what, Locked& locked, Ask&& ask) {
  const MutexLock guard(locked.lock);
  AQUA_TRY(check_whole(what, locked));
  return ask(locked);
}

// The same for any other call that changes what is locked: an exception interrupts it.
template <typename Locked, typename Use>
[[nodiscard]] Result<void> use_locked(const char* what, Locked& locked, Use&& use) {
  const MutexLock guard(locked.lock);
  AQUA_TRY(check_whole(what, locked));
  try {
    return use(locked);
  } catch (...) {
    locked.interrupted = true;
    throw;
  }
}

}  // namespace aqua::capi
