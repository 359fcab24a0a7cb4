// SPDX-License-Identifier: Apache-2.0
// Play: what happens in the demonstration, and when.
//
//   filling    requests arrive; preempted sequences fill the lent memory
//   reclaiming the load of one producer rises: it wants back all that it lent
//   settling   it has it; its load falls, and it offers again
//   draining   tensors are back in lent memory; the rest of the requests completes
//
// Until it drains, a trace that runs out is started again from its first request.
// Threads: one. The fleet outlives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fleet.hpp"
#include "workload.hpp"

namespace aqua::example {

enum class Act : std::uint8_t { filling, reclaiming, settling, draining, over };
[[nodiscard]] std::string_view to_string(Act act);

// How things stood when memory was wanted back.
struct AtReclaim {
  double seconds = 0;              // since the start
  std::size_t producer = 0;        // whose load rose
  std::uint64_t peer_bytes = 0;    // of tensors in lent memory, over all consumers
  std::uint64_t lent_bytes = 0;    // by that producer
  std::uint64_t memory_bytes = 0;  // of all processes
};

class Play {
 public:
  Play(const Options& options, const Workload& work, Fleet& fleet);

  void begin();
  // After each word of the fleet: goes on to the next act when it is time.
  void follow(double seconds);

  [[nodiscard]] Act act() const { return act_; }
  [[nodiscard]] const AtReclaim& at_reclaim() const { return at_reclaim_; }
  [[nodiscard]] std::uint64_t requests_sent() const { return sent_; }
  [[nodiscard]] std::uint64_t requests_done() const;
  // Of tensors that had to leave the reclaimed memory's holder, back into lent memory.
  [[nodiscard]] std::uint64_t promotions_after_reclaim() const;

 private:
  void deal(std::vector<WorkItem> items);
  void top_up();
  [[nodiscard]] bool ready_to_reclaim() const;
  void surge(double seconds);
  void note_emptied();

  const Options& options_;
  const Workload& work_;
  Fleet& fleet_;
  Act act_ = Act::filling;
  AtReclaim at_reclaim_;
  std::uint64_t sent_ = 0;
  // Of consumers that were seen without any lent memory after the surge: promotions by then.
  std::vector<std::optional<std::uint64_t>> promotions_when_empty_;
};

}  // namespace aqua::example
