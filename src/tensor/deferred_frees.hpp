// SPDX-License-Identifier: Apache-2.0
// DeferredFrees keeps places that nobody pins any more until the streams that used them are
// done, then frees them. It makes host calls only, and only drain() waits.
//
// Threads: every method may be called concurrently.
#pragma once

#include <memory>

#include "base/mutex.hpp"
#include "tensor/place_list.hpp"

namespace aqua::tensor {

class DeferredFrees {
 public:
  explicit DeferredFrees(device::Device& device) : device_(device) {}

  // Frees the place at once when it is quiet, and keeps it otherwise. Needs no memory.
  void add(std::shared_ptr<TensorPlace> place) noexcept;
  // Frees what has become quiet; returns how many are left. What a call on another thread has begun
  // to free is free when this returns.
  std::size_t collect();
  // Blocks until everything taken so far is quiet, and frees it.
  void drain();

 private:
  device::Device& device_;
  Mutex collecting_;
  Mutex mu_;  // taken after the other
  PlaceList waiting_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::tensor
