// SPDX-License-Identifier: Apache-2.0
// Reclaims follows each reclaim from its start until its bytes are back or its deadline has passed.
// The coordinator revokes what is held. Without one, what nobody holds is taken back here, and the
// rest when it is returned.
//
// Threads: start() from any; the rest on the control loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/lend/lent_slabs.hpp"
#include "runtime/lend/reclaim_state.hpp"

namespace aqua::runtime {

class Reclaims {
 public:
  // Both outlive it.
  Reclaims(Services& services, LentSlabs& lent) : services_(services), lent_(lent) {}

  [[nodiscard]] std::shared_ptr<ReclaimState> start(std::size_t bytes,
                                                    std::chrono::milliseconds deadline);
  // Asks anew what the coordinator may not know: everything where it has lost what it knew.
  void on_connected(bool new_epoch);
  // The coordinator has ended this reclaim.
  void on_ended(std::uint64_t ledger_id);
  // True while the coordinator may have withdrawn slabs that have not been taken back here.
  [[nodiscard]] bool any_unanswered() const;
  // A slab is back. It counts for the oldest reclaim that still waits, else for one that ended
  // without it.
  void credit(std::size_t bytes, Clock::time_point at);
  // Takes what steps it can; returns when it wants to be called again at the latest.
  [[nodiscard]] Clock::time_point step(Clock::time_point now);
  // Ends what still waits, so that nobody waits for it for ever. After the loop has stopped.
  void close();

 private:
  // The same each time until it is answered: it may have been done although the answer was lost.
  struct Question {
    std::size_t bytes = 0;
    std::chrono::milliseconds within{};
    std::string key = southbound::new_key();
  };
  struct Pending {
    std::shared_ptr<ReclaimState> state;
    std::uint64_t ledger_id = 0;         // 0: the coordinator does not know of it
    std::optional<Question> question{};  // of this session
    bool asking = false;
    bool again = false;    // asked in another session before, which may have known more slabs
    bool limited = false;  // to what is lent beyond earlier reclaims, for want of a coordinator
    bool ending = false;   // its holders are being asked for
    Clock::time_point not_before{};  // the coordinator is asked about it again
  };

  [[nodiscard]] bool is_connected() const;
  // Whether the coordinator knows of it and can be asked: it revokes, and ends it.
  [[nodiscard]] bool is_followed(const Pending& pending) const {
    return pending.ledger_id != 0 && is_connected();
  }
  void ask(std::size_t position, bool connected);
  void on_asked(const std::shared_ptr<ReclaimState>& state,
                const Result<ledger::Ledger::ReclaimStart>& started);
  void limit_to_lent(std::size_t position);
  void take_free_slabs();
  void end_partially(Pending& pending);
  [[nodiscard]] std::optional<std::vector<Holder>> ask_for_holders(std::uint64_t ledger_id);

  Services& services_;
  LentSlabs& lent_;
  std::vector<Pending> pending_;  // oldest first
};

}  // namespace aqua::runtime
