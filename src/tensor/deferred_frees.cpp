// SPDX-License-Identifier: Apache-2.0
#include "tensor/deferred_frees.hpp"

#include <exception>

namespace aqua::tensor {
namespace {

// Without memory for the answer it is asked again another time.
bool is_quiet(TensorPlace& place, device::Device& device) noexcept {
  try {
    return place.quiet(device);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void DeferredFrees::add(std::shared_ptr<TensorPlace> place) noexcept {
  if (is_quiet(*place, device_)) return;
  const MutexLock lock(mu_);
  waiting_.push(std::move(place));
}

std::size_t DeferredFrees::collect() {
  const MutexLock one_at_a_time(collecting_);
  PlaceList freed;  // destroyed outside the other lock
  std::size_t count = 0;
  const MutexLock lock(mu_);
  PlaceList left;
  while (auto place = waiting_.pop()) {
    const bool quiet = is_quiet(*place, device_);
    count += quiet ? 0U : 1U;
    (quiet ? freed : left).push(std::move(place));
  }
  waiting_ = std::move(left);
  return count;
}

void DeferredFrees::drain() {
  PlaceList taken;
  {
    const MutexLock lock(mu_);
    taken = std::move(waiting_);
  }
  while (const auto place = taken.pop()) place->wait_quiet(device_);
}

}  // namespace aqua::tensor
