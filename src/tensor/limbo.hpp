// SPDX-License-Identifier: Apache-2.0
// Limbo keeps placements that nobody pins any more until the streams that used them are
// done, then frees them. Host calls only: nothing here waits unless it is asked to.
//
// Threads: every method may be called concurrently.
#pragma once

#include <memory>

#include "base/mutex.hpp"
#include "tensor/placement_list.hpp"

namespace aqua::tensor {

class Limbo {
 public:
  explicit Limbo(device::Device& device) : device_(device) {}

  // Frees it at once when it is quiet. Needs no memory.
  void take(std::shared_ptr<Placement> placement) noexcept;
  // Frees what has become quiet; returns how many are left.
  std::size_t collect();
  // Blocks until everything taken so far is quiet, and frees it.
  void drain();

 private:
  device::Device& device_;
  Mutex mu_;
  PlacementList waiting_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::tensor
