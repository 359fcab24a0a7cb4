// SPDX-License-Identifier: Apache-2.0
// PlacementList: placements on their way out. Linked through themselves, so that a release or a
// free needs no memory. A placement is in one list at a time; adding it again changes nothing.
//
// Threads: not thread-safe. Owns: a share of each placement.
#pragma once

#include <memory>
#include <utility>

#include "tensor/placement.hpp"

namespace aqua {

class PlacementList {
 public:
  PlacementList() = default;
  PlacementList(PlacementList&&) noexcept = default;
  PlacementList& operator=(PlacementList&& other) noexcept {
    std::swap(first_, other.first_);
    return *this;
  }
  ~PlacementList() {
    while (pop() != nullptr) {  // one by one: a chain of destructors could be deep
    }
  }

  void push(std::shared_ptr<Placement> placement) noexcept {
    if (placement->listed) return;
    placement->listed = true;
    placement->next_listed = std::move(first_);
    first_ = std::move(placement);
  }
  // Null when it is empty.
  [[nodiscard]] std::shared_ptr<Placement> pop() noexcept {
    std::shared_ptr<Placement> placement = std::move(first_);
    if (placement == nullptr) return nullptr;
    first_ = std::move(placement->next_listed);
    placement->listed = false;
    return placement;
  }

 private:
  std::shared_ptr<Placement> first_;
};

}  // namespace aqua
