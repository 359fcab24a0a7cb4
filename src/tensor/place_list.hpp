// SPDX-License-Identifier: Apache-2.0
// PlaceList: places on their way out. Linked through themselves, so that a release or a
// free needs no memory. A place is in one list at a time; adding it again changes nothing.
//
// Threads: not thread-safe. Owns: a share of each place.
#pragma once

#include <memory>
#include <utility>

#include "tensor/tensor_place.hpp"

namespace aqua {

class PlaceList {
 public:
  PlaceList() = default;
  PlaceList(PlaceList&&) noexcept = default;
  PlaceList& operator=(PlaceList&& other) noexcept {
    std::swap(first_, other.first_);
    return *this;
  }
  ~PlaceList() {
    while (pop() != nullptr) {  // one by one: a chain of destructors could be deep
    }
  }

  void push(std::shared_ptr<TensorPlace> place) noexcept {
    if (place->listed) return;
    place->listed = true;
    place->next_listed = std::move(first_);
    first_ = std::move(place);
  }
  // Null when it is empty.
  [[nodiscard]] std::shared_ptr<TensorPlace> pop() noexcept {
    std::shared_ptr<TensorPlace> place = std::move(first_);
    if (place == nullptr) return nullptr;
    first_ = std::move(place->next_listed);
    place->listed = false;
    return place;
  }

 private:
  std::shared_ptr<TensorPlace> first_;
};

}  // namespace aqua
