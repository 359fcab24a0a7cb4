// SPDX-License-Identifier: Apache-2.0
// Rows for tests of stores, and rows as text to compare.
#pragma once

#include <algorithm>
#include <string>

#include "base/concat.hpp"
#include "groups/types.hpp"
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

inline groups::GroupRow one_group() {
  groups::GroupRow row;
  row.id = random_id<groups::GroupTag>();
  row.name = "a 'group' with \"quotes\"";
  row.creator = random_id<ClientTag>();
  row.creator_gone = true;
  row.user = 65534;
  row.topology = {.prefill = {2, 3}, .decode = {4, 5}};
  row.shape = {.model = "model", .dtype = "f16", .layout = "[block][token]"};
  row.state = groups::State::sealing;
  row.term = std::uint64_t{1} << 62;
  row.joins = 9;
  row.members.push_back(
      {random_id<ClientTag>(), "one", groups::Rank{groups::Role::prefill, 1, 2}, 7});
  row.members.push_back({random_id<ClientTag>(), "spare", std::nullopt, 8});
  row.members.push_back(
      {random_id<ClientTag>(), "two", groups::Rank{groups::Role::decode, 3, 4}, 9});
  std::ranges::sort(row.members, {}, &groups::MemberRow::client);
  return row;
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
