// SPDX-License-Identifier: Apache-2.0
// Rows for tests of stores, and rows as text to compare.
#pragma once

#include <string>

#include "base/concat.hpp"
#include "ledger/image.hpp"

namespace aqua::coordinator {

inline ledger::Image one_of_each() {
  ledger::Image image;
  ledger::ClientInfo client;
  client.id = random_id<ClientTag>();
  client.name = "a 'name' with \"quotes\" and \u00fcml\u00e4uts";
  client.device = random_id<DeviceTag>();
  client.device_name = "emu:0";
  client.server = "server";
  client.domain = "domain";
  client.exchange = "/tmp/x.sock";
  client.producer = true;
  client.pid = 4711;
  client.started = 123456789;
  client.uid = 65534;
  image.clients.push_back({client, true});
  ledger::Slab slab;
  slab.id = {client.id, 4294967295U};
  slab.bytes = std::uint64_t{1} << 40;
  slab.state = ledger::SlabState::revoking;
  slab.generation = std::uint64_t{1} << 62;
  slab.secret = random_id<LeaseTag>();
  slab.holder = random_id<ClientTag>();
  slab.reclaim = 7;
  slab.granted = 99;
  slab.late = true;
  image.slabs.push_back(slab);
  image.reclaims.push_back({.id = 7,
                            .producer = client.id,
                            .bytes_wanted = 5,
                            .bytes_returned = 3,
                            .started = ledger::Time{1000},
                            .deadline = ledger::Time{2000},
                            .ended = ledger::Time{1500},
                            .done = true,
                            .outstanding = {}});
  image.pairs.push_back({client.id, *slab.holder, true});
  return image;
}

inline std::string text_of(const ledger::Image& image) {
  std::string text;
  for (const auto& [c, draining] : image.clients) {
    text += concat("client ", to_string(c.id), " ", c.name, " ", to_string(c.device), " ",
                   c.device_name, " ", c.server, " ", c.domain, " ", c.exchange, " ", c.producer,
                   c.consumer, " ", c.pid, " ", c.started, " ", c.uid, draining ? " draining" : "",
                   "\n");
  }
  for (const auto& s : image.slabs) {
    text +=
        concat("slab ", ledger::to_string(s.id), " ", s.bytes, " ", to_string(s.state), " ",
               s.generation, " ", to_string(s.secret), " ", s.holder ? to_string(*s.holder) : "-",
               " ", s.reclaim, " ", s.granted, " ", s.late, "\n");
  }
  for (const auto& r : image.reclaims) {
    text += concat("reclaim ", r.id, " ", to_string(r.producer), " ", r.bytes_wanted, " ",
                   r.bytes_returned, " ", r.started.count(), " ", r.deadline.count(), " ", r.done,
                   " ", r.ended.count(), "\n");
  }
  for (const auto& p : image.pairs) {
    text += concat("pair ", to_string(p.producer), " ", to_string(p.consumer), " ", p.is_explicit,
                   "\n");
  }
  return text;
}

}  // namespace aqua::coordinator
