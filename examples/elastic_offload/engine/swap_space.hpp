// SPDX-License-Identifier: Apache-2.0
// SwapSpace moves preempted sequences between the cache and AquaTensors: a tensor each, from
// the moment a sequence is preempted until it is back and checked. It posts and looks; it
// never waits.
//
// Threads: the engine's. Owns: its stream. The runtime and the cache outlive it; destroy it
// once no sequence is leaving or returning.
#pragma once

#include "sequence.hpp"
#include "stats.hpp"

namespace aqua::example {

class SwapSpace {
 public:
  SwapSpace(Runtime& runtime, KvMemory& cache, std::uint32_t tenant);
  ~SwapSpace();
  SwapSpace(const SwapSpace&) = delete;
  SwapSpace& operator=(const SwapSpace&) = delete;

  // Posts the offload of a resident sequence whose kernels are over; `to_host`: past lent memory,
  // whether there is room or not. False, and nothing changed, when there is no tensor memory for
  // it.
  [[nodiscard]] bool send_away(Sequence& sequence, bool to_host);
  // Posts the fetch of an away sequence into blocks just taken, and the check behind it.
  void bring_back(Sequence& sequence);
  // Takes the step that leaving or returning waits for, when its work is over: blocks go back
  // to the cache, or the tensor is freed and the sequence is resident. True if it did.
  bool advance(Sequence& sequence);
  // The device's seconds of the fetch of a sequence that advance() has just made resident.
  [[nodiscard]] static double fetch_seconds(const Sequence& sequence);

  // Whether tensors made from here on use lent memory. At first they go there where there is room.
  void use_lent_memory(bool use) { use_lent_ = use; }
  [[nodiscard]] bool uses_lent_memory() const { return use_lent_; }

  [[nodiscard]] const SwapStats& stats() const { return stats_; }

 private:
  [[nodiscard]] StreamMark mark();

  Runtime& runtime_;
  KvMemory& cache_;
  const std::uint32_t tenant_;
  Stream stream_;
  bool use_lent_ = true;
  SwapStats stats_;
};

}  // namespace aqua::example
