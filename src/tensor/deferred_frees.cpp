// SPDX-License-Identifier: Apache-2.0
#include "tensor/deferred_frees.hpp"

#include <exception>

namespace aqua::tensor {
namespace {

// Without memory for the answer it is asked again another time.
bool is_quiet(Placement& placement, device::Device& device) noexcept {
  try {
    return placement.quiet(device);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void DeferredFrees::add(std::shared_ptr<Placement> placement) noexcept {
  if (is_quiet(*placement, device_)) return;
  const MutexLock lock(mu_);
  waiting_.push(std::move(placement));
}

std::size_t DeferredFrees::collect() {
  PlacementList freed;  // destroyed outside the lock
  std::size_t count = 0;
  const MutexLock lock(mu_);
  PlacementList left;
  while (auto placement = waiting_.pop()) {
    const bool quiet = is_quiet(*placement, device_);
    count += quiet ? 0U : 1U;
    (quiet ? freed : left).push(std::move(placement));
  }
  waiting_ = std::move(left);
  return count;
}

void DeferredFrees::drain() {
  PlacementList taken;
  {
    const MutexLock lock(mu_);
    taken = std::move(waiting_);
  }
  while (const auto placement = taken.pop()) placement->wait_quiet(device_);
}

}  // namespace aqua::tensor
