// SPDX-License-Identifier: Apache-2.0
#include "ledger/slab_index.hpp"

#include <cassert>

namespace aqua::ledger {
namespace {

bool has_of(const std::set<SlabId>& slabs, const ClientId& producer) {
  const auto first = slabs.lower_bound(SlabId{producer, 0});
  return first != slabs.end() && first->producer == producer;
}

std::set<SlabId>& set_for(HolderIndex& holder, SlabState state) {
  if (state == SlabState::orphaned) return holder.orphans;
  return state == SlabState::suspect ? holder.suspect : holder.running;
}

}  // namespace

bool HolderIndex::holds_of(const ClientId& producer) const {
  return has_of(running, producer) || has_of(suspect, producer) || has_of(orphans, producer);
}

void SlabIndex::add(const Slab& row) {
  ProducerIndex& producer = producers_[row.id.producer];
  ++producer.rows;
  total_bytes_ += row.bytes;
  if (row.state == SlabState::offered) {
    producer.free.emplace(row.bytes, row.id.index);
    producer.free_bytes += row.bytes;
  }
  if (!is_held(row.state)) return;
  assert(row.holder);
  ++producer.held;
  HolderIndex& holder = holders_[*row.holder];
  set_for(holder, row.state).insert(row.id);
  if (is_alleged(row)) {
    ++holder.alleged;
  } else if (row.state != SlabState::orphaned) {
    holder.bytes += row.bytes;
  }
  if (row.late) ++holder.late;
}

void SlabIndex::remove(const Slab& row) {
  const auto of = producers_.find(row.id.producer);
  assert(of != producers_.end());
  ProducerIndex& producer = of->second;
  total_bytes_ -= row.bytes;
  if (row.state == SlabState::offered) {
    producer.free.erase({row.bytes, row.id.index});
    producer.free_bytes -= row.bytes;
  }
  if (is_held(row.state)) {
    --producer.held;
    const auto by = holders_.find(*row.holder);
    assert(by != holders_.end());
    set_for(by->second, row.state).erase(row.id);
    if (is_alleged(row)) {
      --by->second.alleged;
    } else if (row.state != SlabState::orphaned) {
      by->second.bytes -= row.bytes;
    }
    if (row.late) --by->second.late;
    if (by->second.count() == 0) holders_.erase(by);
  }
  if (--producer.rows == 0) producers_.erase(of);
}

const ProducerIndex& SlabIndex::producer(const ClientId& id) const {
  static const ProducerIndex empty;
  const auto found = producers_.find(id);
  return found == producers_.end() ? empty : found->second;
}

const HolderIndex& SlabIndex::holder(const ClientId& id) const {
  static const HolderIndex empty;
  const auto found = holders_.find(id);
  return found == holders_.end() ? empty : found->second;
}

}  // namespace aqua::ledger
