// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/lent_slabs.hpp"

#include <utility>

namespace aqua::runtime {

Result<std::vector<std::uint32_t>> LentSlabs::put_up(
    std::vector<std::unique_ptr<device::Slab>> slabs, const SlabReceiver& receiver) {
  auto offered = exporter_->put_up(slabs);
  if (!offered.ok()) {
    for (auto& slab : slabs) {
      bytes_ -= slab->bytes();
      receiver(std::move(slab));
    }
    return std::move(offered).error();
  }
  std::vector<std::uint32_t> indexes;
  const MutexLock lock(mu_);
  for (const lending::SlabStatus& slab : *offered) {
    receivers_.emplace(slab.index, receiver);
    indexes.push_back(slab.index);
  }
  return indexes;
}

void LentSlabs::take_back(std::span<const std::uint32_t> indexes) {
  for (const std::uint32_t index : indexes) {
    services_.unmap_queue.post([this, index] { take_back_now(index); });
  }
}

void LentSlabs::take_back_now(std::uint32_t index) {
  SlabReceiver receiver;
  {
    const MutexLock lock(mu_);
    const auto found = receivers_.find(index);
    if (found == receivers_.end()) return;  // taken back already, or only now being put up
    receiver = found->second;
  }
  auto slabs = exporter_->take_back({&index, 1});
  if (!slabs.ok()) {
    // Held or being scrubbed is no fault.
    if (slabs.error().code != Code::not_found) services_.log(LogLevel::info, slabs.error().message);
    return;
  }
  {
    const MutexLock lock(mu_);
    receivers_.erase(index);
  }
  const std::size_t bytes = slabs->front()->bytes();
  receiver(std::move(slabs->front()));
  // Counted on the loop, so that what is lent and what reclaims wait for agree there.
  services_.loop.post([this, bytes, now = Clock::now()] {
    bytes_ -= bytes;
    returned_(bytes, now);
    services_.budget_changed(BudgetReason::reclaimed);
  });
}

}  // namespace aqua::runtime
