// SPDX-License-Identifier: Apache-2.0
// Keeper is the liveness thread: it begins sessions, renews them, ends them, and begins
// again. It runs no foreign code, so nothing that an engine does can keep it from renewing.
//
// Threads: one of its own, from construction to destruction.
#pragma once

#include <thread>

#include "aqua/result.hpp"
#include "southbound/lifeline.hpp"
#include "southbound/link.hpp"

namespace aqua::southbound {

class Keeper {
 public:
  explicit Keeper(Link& link);  // which must outlive it
  ~Keeper();                    // after link.close(): leaves, in at most a second

 private:
  struct Kept {
    Active active;
    Lifeline lifeline;
  };
  void run();
  [[nodiscard]] Result<Kept> begin();
  // Until the session is over; says why.
  [[nodiscard]] Error keep(const Kept& kept);
  [[nodiscard]] Result<void> renew(const Active& active);
  void leave(const Active& active);

  Link& link_;
  std::uint64_t joined_ = 0;  // sessions so far
  std::thread thread_;
};

}  // namespace aqua::southbound
