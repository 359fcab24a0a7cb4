// SPDX-License-Identifier: Apache-2.0
// BlockQueue is who waits for blocks of a KV pool, the longest waiting first, and decides how many
// of the free ones a member gets.
//
// A member that asks lacks so many blocks, all of which it gets at once or none: parts of what two
// members lack would keep both waiting for ever. What it asks for beyond that is its reserve.
//
// - Members that came later may overtake one that waits, so that who has blocks can go on and let
//   go of them. They get what they lack and no more, and all together as many blocks as the pool
//   has: then it is the turn of the one that waits, and nobody overtakes it.
// - It is also its turn once what it lacks is free. It is told, and fetches it.
// - A turn lasts kTurn. Who has not been served by then, since others never let go of so many or
//   its process is stopped, may be overtaken by twice as many blocks before its next turn.
// - A member that waits for blocks of its own, or for its role's quota, holds nobody up.
// - Reserves are filled where nobody lacks anything.
//
// Threads: none of its own. Pure: no I/O; it is told the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "parcel/parcel_book.hpp"

namespace aqua {

class BlockQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kTurn{5};

  // The pool as it is now.
  struct Pool {
    std::uint32_t blocks = 0;
    std::uint32_t free = 0;
    // How many more a member may have, were all those free that others have.
    std::function<std::uint32_t(MemberNumber)> allowed{};
    TimePoint now{};
  };

  // How many of `most` blocks the member is granted, which lacks `least`. Where it gets fewer it
  // waits from now on, in its old place if it lacked some before; else it does not wait any more. A
  // member may lack more than `most`, and then asks for the rest.
  [[nodiscard]] std::uint32_t grant(MemberNumber member, std::uint32_t most, std::uint32_t least,
                                    const Pool& pool);
  // Those for whom there is something, and who have not been told since they asked.
  [[nodiscard]] std::vector<MemberNumber> take_served(const Pool& pool);
  // It does not wait any more. (Not known: nothing.)
  void forget(MemberNumber member);
  friend bool operator==(const BlockQueue&, const BlockQueue&) = default;

 private:
  struct Waiter {
    MemberNumber member = 0;
    std::uint32_t least = 0;          // that it lacks; 0: it waits for its reserve
    std::uint64_t between = 0;        // blocks by which it may be overtaken before a turn
    std::uint64_t left = 0;           // of these, before the next one
    std::optional<TimePoint> turn{};  // since when it is its turn
    bool told = false;
    friend bool operator==(const Waiter&, const Waiter&) = default;
  };
  // What those ahead leave to the next in the line.
  struct Line {
    std::uint32_t free = 0;
    std::uint64_t least = 0;  // that the next may lack at most, to overtake them
  };

  [[nodiscard]] static bool holds_up(const Waiter& waiter, const Pool& pool);
  // Whether there is enough for this one, the next. The line is then what is behind it.
  [[nodiscard]] static bool join(Line& line, Waiter& waiter, const Pool& pool);
  void wait(MemberNumber member, std::uint32_t least, const Pool& pool);

  std::vector<Waiter> waiters_;  // the longest waiting first
};

}  // namespace aqua
