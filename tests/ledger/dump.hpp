// SPDX-License-Identifier: Apache-2.0
// Everything a ledger shows, as text: equal before and after a call that changed nothing.
#pragma once

#include <string>

#include "base/concat.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger::test {

inline std::string dump(const Ledger& ledger) {
  std::string out = concat("events ", ledger.last_event(), " next ",
                           ledger.next_deadline().value_or(Time{-1}).count(), "\n");
  for (const auto& [id, c] : ledger.clients()) {
    out += concat("client ", to_string(id), " ", c.info.name, " ", to_string(c.state), " ",
                  c.expires.count(), " ", c.leases_expire.count(), " ", c.draining, "\n");
  }
  for (const auto& [id, s] : ledger.slabs()) {
    out += concat("slab ", to_string(id), " ", s.bytes, " ", to_string(s.state), " ", s.generation,
                  " ", to_string(s.secret), " ", s.holder ? to_string(*s.holder) : "-", " ",
                  s.reclaim, " ", s.granted, " ", s.late, "\n");
  }
  for (const auto& [id, r] : ledger.reclaims()) {
    out += concat("reclaim ", id, " ", to_string(r.producer), " ", r.bytes_wanted, " ",
                  r.bytes_returned, " ", r.deadline.count(), " ", r.done, " ", r.outstanding.size(),
                  "\n");
  }
  for (const auto& [consumer, producer] : ledger.pairs()) {
    out += concat("pair ", to_string(consumer), " ", to_string(producer), "\n");
  }
  return out;
}

}  // namespace aqua::ledger::test
