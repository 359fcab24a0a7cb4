// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/tally.hpp"

namespace aqua::coordinator {

using ledger::SlabState;

namespace {

bool is_loan(const ledger::SlabChange& change, SlabState state) {
  return is_held(state) && change.holder && !change.alleged;
}

}  // namespace

std::string name_of(const ledger::Ledger& ledger, const ClientId& client) {
  const auto found = ledger.clients().find(client);
  return found == ledger.clients().end() ? std::string() : found->second.info.name;
}

Tally::Tally(const ledger::Ledger& ledger) {
  for (const auto& [id, row] : ledger.slabs()) {
    const ledger::SlabChange present{.slab = id,
                                     .bytes = row.bytes,
                                     .to = row.state,
                                     .holder = row.holder,
                                     .alleged = is_alleged(row)};
    enter(present, ledger);
  }
}

void Tally::add(const ledger::SlabChange& change, const ledger::Ledger& ledger) {
  leave(change);
  enter(change, ledger);
}

void Tally::enter(const ledger::SlabChange& change, const ledger::Ledger& ledger) {
  if (change.to == SlabState::returned) return;
  Sum& sum = states_[static_cast<std::size_t>(change.to)];
  ++sum.slabs;
  sum.bytes += change.bytes;
  if (!is_loan(change, change.to)) return;
  Loan& loan = loans_[{change.slab.producer, *change.holder}];
  ++loan.slabs;
  loan.bytes += change.bytes;
  if (loan.producer.empty()) loan.producer = name_of(ledger, change.slab.producer);
  if (loan.consumer.empty()) loan.consumer = name_of(ledger, *change.holder);
}

void Tally::leave(const ledger::SlabChange& change) {
  if (change.from == SlabState::returned) return;
  Sum& sum = states_[static_cast<std::size_t>(change.from)];
  --sum.slabs;
  sum.bytes -= change.bytes;
  if (!is_loan(change, change.from)) return;
  const auto found = loans_.find({change.slab.producer, *change.holder});
  if (found == loans_.end()) return;
  found->second.bytes -= change.bytes;
  if (--found->second.slabs == 0) loans_.erase(found);
}

}  // namespace aqua::coordinator
