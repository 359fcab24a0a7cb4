// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/records.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::crash_test {
namespace {

std::string name(const SlabId& slab, Generation generation) {
  return concat("slab ", ledger::to_string(slab), " generation ", generation);
}

}  // namespace

void Records::violation(const std::string& what) {
  violations_.push_back(what);
}

void Records::broken(const std::string& what) {
  MutexLock lock(mu_);
  violation(what);
}

void Records::granted(const ClientId& consumer, const SlabId& slab, Generation generation) {
  MutexLock lock(mu_);
  const auto [at, fresh] = leases_.try_emplace({slab, generation}, Lease{consumer});
  if (!fresh && at->second.consumer != consumer)
    violation(concat(name(slab, generation), " was granted twice, to ",
                     to_string(at->second.consumer), " and ", to_string(consumer)));
  if (fresh) ++counts_.grants;
}

void Records::mapped(const ClientId& consumer, const SlabId& slab) {
  MutexLock lock(mu_);
  const auto [at, fresh] = mapped_.try_emplace(slab, consumer);
  if (!fresh && at->second != consumer)
    violation(concat("slab ", ledger::to_string(slab), " is mapped by two"));
}

void Records::unmapped(const ClientId& consumer, const SlabId& slab) {
  MutexLock lock(mu_);
  const auto at = mapped_.find(slab);
  if (at != mapped_.end() && at->second == consumer) mapped_.erase(at);
}

void Records::returning(const SlabId& slab, Generation generation) {
  MutexLock lock(mu_);
  const auto at = leases_.find({slab, generation});
  if (at != leases_.end()) at->second.ending = true;
}

void Records::returned(const SlabId& slab, Generation generation) {
  MutexLock lock(mu_);
  const auto at = leases_.find({slab, generation});
  if (at == leases_.end()) return;
  at->second.ended = true;
  ++counts_.returns;
}

void Records::joining(const ClientId& producer) {
  MutexLock lock(mu_);
  declaring_.insert(producer);
}

void Records::declaring(const ClientId& producer,
                        const std::set<std::pair<SlabId, Generation>>& held) {
  MutexLock lock(mu_);
  for (auto& [key, lease] : leases_) {
    if (key.first.producer == producer && !held.contains(key)) lease.ending = true;
  }
}

void Records::declared(const ClientId& producer) {
  MutexLock lock(mu_);
  declaring_.erase(producer);
}

void Records::offered(const SlabId& slab, Generation generation) {
  MutexLock lock(mu_);
  own_[slab].at_least = generation;
}

void Records::leaving(const SlabId& slab, Generation generation) {
  MutexLock lock(mu_);
  own_[slab].leaving = std::max(own_[slab].leaving, generation);
}

void Records::scrubbed(const SlabId& slab, Generation next) {
  MutexLock lock(mu_);
  own_[slab].at_least = next;
  ++counts_.scrubs;
}

void Records::gone(const SlabId& slab) {
  MutexLock lock(mu_);
  own_[slab] = Own{.leaving = 0, .gone = true};
}

void Records::check(const coordinator::Stored& stored) {
  MutexLock lock(mu_);
  std::map<SlabId, ledger::Slab> rows;
  for (const ledger::Slab& row : stored.image.slabs) rows.emplace(row.id, row);
  for (const auto& [key, lease] : leases_) {
    const auto& [slab, generation] = key;
    if (declaring_.contains(slab.producer)) continue;  // its exporter is about to say it again
    const auto row = rows.find(slab);
    const bool there = row != rows.end() && row->second.generation == generation &&
                       ledger::is_held(row->second.state) && row->second.holder == lease.consumer;
    if (!lease.ending && !there)
      violation(concat(name(slab, generation), " was granted and is forgotten"));
    if (lease.ended && there)
      violation(concat(name(slab, generation), " was returned and is held again"));
    ++counts_.leases_checked;
  }
  for (const auto& [slab, own] : own_) {
    if (own.leaving >= own.at_least || declaring_.contains(slab.producer)) continue;
    const auto row = rows.find(slab);
    if (own.gone && row != rows.end())
      violation(concat("slab ", ledger::to_string(slab), " was taken back and is there again"));
    if (!own.gone && row == rows.end())
      violation(concat("slab ", ledger::to_string(slab), " was offered and is forgotten"));
    if (!own.gone && row != rows.end() && row->second.generation < own.at_least)
      violation(concat("slab ", ledger::to_string(slab), " is back at generation ",
                       row->second.generation, ", it was at ", own.at_least));
    ++counts_.offers_checked;
  }
  // What has been judged and has ended need not be looked at again.
  std::erase_if(leases_, [](const auto& entry) { return entry.second.ended; });
}

std::vector<std::string> Records::violations() const {
  MutexLock lock(mu_);
  return violations_;
}

Records::Counts Records::counts() const {
  MutexLock lock(mu_);
  return counts_;
}

}  // namespace aqua::crash_test
