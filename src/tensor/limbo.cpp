#include "tensor/limbo.hpp"

#include <iterator>

namespace aqua::tensor {

void Limbo::take(std::shared_ptr<Placement> placement) {
  if (placement->quiet(device_)) return;
  const MutexLock lock(mu_);
  waiting_.push_back(std::move(placement));
}

std::size_t Limbo::collect() {
  std::vector<std::shared_ptr<Placement>> freed;  // destroyed outside the lock
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<Placement>> left;
  for (auto& placement : waiting_)
    (placement->quiet(device_) ? freed : left).push_back(std::move(placement));
  waiting_ = std::move(left);
  return waiting_.size();
}

void Limbo::drain() {
  std::vector<std::shared_ptr<Placement>> taken;
  {
    const MutexLock lock(mu_);
    taken.swap(waiting_);
  }
  for (const auto& placement : taken) placement->wait_quiet(device_);
}

}  // namespace aqua::tensor
