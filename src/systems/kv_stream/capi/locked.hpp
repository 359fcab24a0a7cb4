// SPDX-License-Identifier: Apache-2.0
// Calls on an object that is for one thread at a time, through the C ABI, which is for many. What
// is locked has a `lock`, and `interrupted`: an exception ended a call in its middle, and nobody
// knows what it had changed.
#pragma once

#include <mutex>

#include "capi/call.hpp"

namespace aqua::capi {

// Runs ask(locked), which changes nothing, as the only call. `what` names the call. aborted after
// an interruption.
template <typename Locked, typename Ask>
[[nodiscard]] Result<void> ask_locked(const char* what, Locked& locked, Ask&& ask) {
  const std::lock_guard guard(locked.lock);
  if (locked.interrupted) {
    return Error{Code::aborted, concat(what, ": memory ran out in the middle of an earlier call; ",
                                       "free this object, and make another one")};
  }
  return ask(locked);
}

// The same for a call that changes what is locked.
template <typename Locked, typename Use>
[[nodiscard]] Result<void> use_locked(const char* what, Locked& locked, Use&& use) {
  return ask_locked(what, locked, [&](Locked& used) -> Result<void> {
    try {
      return use(used);
    } catch (...) {
      used.interrupted = true;
      throw;
    }
  });
}

}  // namespace aqua::capi
