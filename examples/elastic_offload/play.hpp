// SPDX-License-Identifier: Apache-2.0
// Play: what happens in the demonstration, and when.
//
//   comparing  a few requests are served twice: with host memory alone, then with lent memory
//   filling    requests arrive; preempted sequences fill the lent memory
//   reclaiming the load of one producer rises: it wants back all that it lent
//   settling   it has it; its load falls, and it lends again
//   killing    with Options::kills_lender() only: a lender is killed, and what it lent is left
//   draining   what it lends is in use again; the rest of the requests completes
//
// Filling and settling end by time as well: a policy that seldom preempts may never fill the lent
// memory, nor need any after the reclaim. Until it drains, a trace that runs out is started again
// from its first request.
// Threads: one. The fleet outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"
#include "play/lender_death.hpp"
#include "play/recovery.hpp"

namespace aqua::example {

enum class Act : std::uint8_t { comparing, filling, reclaiming, settling, killing, draining, over };
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

  // Once at the start, and after each word of the fleet: goes on to the next act when it is time.
  void follow(double seconds);

  [[nodiscard]] Act act() const { return act_; }
  // What has happened since the last call, in sentences for people, at most 72 characters each.
  [[nodiscard]] std::vector<std::string> news();

  [[nodiscard]] const Comparison& comparison() const { return comparison_; }
  [[nodiscard]] const AtReclaim& at_reclaim() const { return at_reclaim_; }
  [[nodiscard]] const LenderDeath& death() const { return death_; }
  [[nodiscard]] bool dead_lender_left() const { return dead_lender_left_; }
  [[nodiscard]] std::uint64_t resizes() const;  // of frames, over all consumers
  // Requests of the comparison's serving while that goes on, else of all after it.
  [[nodiscard]] std::uint64_t requests_sent() const;
  [[nodiscard]] std::uint64_t requests_done() const;
  // By consumers that had to give lent memory back, once they had leased some again.
  [[nodiscard]] bool leased_again() const;
  [[nodiscard]] std::uint64_t promotions_after_reclaim() const;
  [[nodiscard]] std::uint64_t bytes_used_again() const;

 private:
  void enter(Act act, double seconds);
  void compare(double seconds);
  void top_up();
  [[nodiscard]] bool ready_to_reclaim(double seconds);
  void surge(double seconds);
  void kill(double seconds);
  void drain(double seconds);
  void let_resize(double share);

  const Options& options_;
  const Workload& work_;
  Fleet& fleet_;
  Requests requests_;
  Comparison comparison_;
  Comparison::Part told_ = Comparison::Part::over;
  Act act_ = Act::comparing;
  double since_ = 0;                     // seconds, when this act began
  std::optional<double> enough_done_{};  // seconds, when enough requests were
  std::optional<double> lent_again_{};   // seconds, when consumers had leased again
  std::uint64_t compared_ = 0;           // requests
  AtReclaim at_reclaim_;
  LenderDeath death_;
  bool dead_lender_left_ = false;     // nobody uses its memory any more
  std::vector<Recovery> recoveries_;  // of each consumer
  std::vector<std::string> news_;
};

}  // namespace aqua::example
