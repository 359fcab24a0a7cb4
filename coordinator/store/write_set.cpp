// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/write_set.hpp"

namespace aqua::coordinator {
namespace {

ledger::Pair pair_of(const ledger::PairBook& book, const ClientId& consumer,
                     const ClientId& producer) {
  return {.producer = producer, .consumer = consumer, .is_explicit = book.is_explicit(consumer)};
}

ledger::Reclaim row_of(ledger::Reclaim reclaim) {
  reclaim.outstanding.clear();
  return reclaim;
}

}  // namespace

WriteSet write_set(const ledger::Ledger& ledger, const ledger::DirtyRows& dirty) {
  WriteSet set;
  for (const ClientId& id : dirty.clients) {
    const auto row = ledger.clients().find(id);
    if (row == ledger.clients().end()) {
      set.clients_gone.push_back(id);
    } else {
      set.put.clients.push_back({row->second.info, row->second.draining});
    }
  }
  for (const ledger::SlabId& id : dirty.slabs) {
    const auto row = ledger.slabs().find(id);
    if (row == ledger.slabs().end()) {
      set.slabs_gone.push_back(id);
    } else {
      set.put.slabs.push_back(row->second);
    }
  }
  for (const std::uint64_t id : dirty.reclaims) {
    const auto row = ledger.reclaims().find(id);
    if (row == ledger.reclaims().end()) {
      set.reclaims_gone.push_back(id);
    } else {
      set.put.reclaims.push_back(row_of(row->second));
    }
  }
  for (const ClientId& consumer : dirty.pairs) {
    if (const auto producer = ledger.pair_book().producer_of(consumer)) {
      set.put.pairs.push_back(pair_of(ledger.pair_book(), consumer, *producer));
    } else {
      set.pairs_gone.push_back(consumer);
    }
  }
  return set;
}

}  // namespace aqua::coordinator
