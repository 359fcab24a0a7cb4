// SPDX-License-Identifier: Apache-2.0
// Named steps of protocols between processes, so that a test can stop or kill a process exactly
// there. Without a hook a step costs one relaxed atomic load.
#pragma once

#include <atomic>

namespace aqua {

// `name` is a literal: "register", "export", "import", "copy", "flip", "return", "scrub",
// "reconnect"; of shared weights "read", "copy", "seal", "publish", "commit", "attach", "wait",
// "map", "drop"; of KV pools "join", "make", "map", "hand_over", "open", "close", "accept"; of
// segments "join", "reserve", "refused", "map", "commit", "open"; of memory "free", where a slab is
// closed behind its owner's back; of the router's moves by KV "receive", "order", "grant",
// "switched", by tokens "warm", "go_on", "take_over". The hook runs on the thread that reached the
// step and may not return. In a process with a runtime it runs just before the step is taken; in
// the coordinator just after the ledger has recorded the step and before the reply is sent.
//
// In the keeper "store": all of a copy of weights but its record lies in the descriptor store;
// "commit": that lies there as well, and the copy does not show yet; "accepted": a parcel is its
// taker's, which has not been answered.
using StepHook = void (*)(const char* name);

inline std::atomic<StepHook> step_hook{nullptr};

inline void step(const char* name) {
  if (StepHook hook = step_hook.load(std::memory_order_relaxed)) hook(name);
}

}  // namespace aqua
