// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/tally.hpp"

namespace aqua::coordinator {

using ledger::SlabState;

std::string name_of(const ledger::Ledger& ledger, const ClientId& client) {
  const auto found = ledger.clients().find(client);
  return found == ledger.clients().end() ? std::string() : found->second.info.name;
}

Tally::Tally(const ledger::Ledger& ledger) {
  for (const auto& [id, row] : ledger.slabs()) enter(id, row.state, row.holder, row.bytes, ledger);
}

void Tally::add(const ledger::SlabChange& change, const ledger::Ledger& ledger) {
  leave(change.slab, change.from, change.holder, change.bytes);
  enter(change.slab, change.to, change.holder, change.bytes, ledger);
}

void Tally::enter(const ledger::SlabId& slab, SlabState state,
                  const std::optional<ClientId>& holder, std::uint64_t bytes,
                  const ledger::Ledger& ledger) {
  if (state == SlabState::returned) return;
  Sum& sum = states_[static_cast<std::size_t>(state)];
  ++sum.slabs;
  sum.bytes += bytes;
  if (!is_held(state) || !holder) return;
  Loan& loan = loans_[{slab.producer, *holder}];
  ++loan.slabs;
  loan.bytes += bytes;
  if (loan.producer.empty()) loan.producer = name_of(ledger, slab.producer);
  if (loan.consumer.empty()) loan.consumer = name_of(ledger, *holder);
}

void Tally::leave(const ledger::SlabId& slab, SlabState state,
                  const std::optional<ClientId>& holder, std::uint64_t bytes) {
  if (state == SlabState::returned) return;
  Sum& sum = states_[static_cast<std::size_t>(state)];
  --sum.slabs;
  sum.bytes -= bytes;
  if (!is_held(state) || !holder) return;
  const auto found = loans_.find({slab.producer, *holder});
  if (found == loans_.end()) return;
  found->second.bytes -= bytes;
  if (--found->second.slabs == 0) loans_.erase(found);
}

}  // namespace aqua::coordinator
