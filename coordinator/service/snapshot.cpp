// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/snapshot.hpp"

#include <algorithm>

namespace aqua::coordinator {
namespace {

wire::Held held_of(const ledger::Ledger& ledger, const ledger::Slab& slab, ledger::Time expires) {
  wire::Held held;
  held.grant = {.slab = slab.id,
                .bytes = slab.bytes,
                .generation = slab.generation,
                .secret = slab.secret,
                .exchange = {},
                .expires = expires};
  const auto producer = ledger.clients().find(slab.id.producer);
  if (producer != ledger.clients().end()) held.grant.exchange = producer->second.info.exchange;
  held.state = slab.state;
  held.reclaim = slab.reclaim;
  const auto reclaim = ledger.reclaims().find(slab.reclaim);
  if (reclaim != ledger.reclaims().end()) held.deadline = reclaim->second.deadline;
  return held;
}

}  // namespace

wire::Snapshot snapshot_of(const ledger::Ledger& ledger, const ClientId& client,
                           const Epoch& epoch) {
  wire::Snapshot snapshot{
      .epoch = epoch, .last_event = ledger.last_event(), .own = {}, .held = {}, .reclaims = {}};
  const auto self = ledger.clients().find(client);
  const ledger::Time expires =
      self == ledger.clients().end() ? ledger::Time{} : self->second.leases_expire;
  for (auto row = ledger.slabs().lower_bound({client, 0});
       row != ledger.slabs().end() && row->first.producer == client; ++row) {
    snapshot.own.push_back(row->second);
  }
  std::vector<ledger::SlabId> held = ledger.held_by(client);
  std::ranges::sort(held);
  for (const ledger::SlabId& id : held)
    snapshot.held.push_back(held_of(ledger, ledger.slabs().at(id), expires));
  for (const auto& [id, reclaim] : ledger.reclaims()) {
    if (reclaim.producer == client) snapshot.reclaims.push_back(reclaim);
  }
  return snapshot;
}

wire::State state_of(const ledger::Ledger& ledger, const Epoch& epoch) {
  wire::State state;
  state.epoch = epoch;
  state.last_event = ledger.last_event();
  for (const auto& [id, client] : ledger.clients()) state.clients.push_back(client);
  for (const auto& [id, slab] : ledger.slabs()) state.slabs.push_back(slab);
  for (const auto& [consumer, producer] : ledger.pairs())
    state.pairs.push_back({producer, consumer});
  for (const auto& [id, reclaim] : ledger.reclaims()) state.reclaims.push_back(reclaim);
  return state;
}

}  // namespace aqua::coordinator
