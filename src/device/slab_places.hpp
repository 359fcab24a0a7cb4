// SPDX-License-Identifier: Apache-2.0
// Where in a reserved range slabs are mapped: the bookkeeping that every device's ranges share.
//
// Threads: its owner's to serialise.
// Units:   bytes; offsets and sizes are multiples of the granularity.
#pragma once

#include <cstddef>
#include <map>

#include "aqua/result.hpp"

namespace aqua::device {

class SlabPlaces {
 public:
  SlabPlaces(std::size_t range_bytes, std::size_t granularity) noexcept
      : range_bytes_(range_bytes), granularity_(granularity) {}

  // Device::map's refusals: invalid_argument for a place that is none, failed_precondition
  // when something is mapped there.
  [[nodiscard]] Result<void> check_free(std::size_t offset, std::size_t bytes) const;
  // Device::unmap's.
  [[nodiscard]] Result<void> check_taken(std::size_t offset, std::size_t bytes) const;

  void take(std::size_t offset, std::size_t bytes) { mapped_.emplace(offset, bytes); }
  void release(std::size_t offset) { mapped_.erase(offset); }
  [[nodiscard]] const std::map<std::size_t, std::size_t>& all() const noexcept { return mapped_; }

 private:
  [[nodiscard]] Result<void> check_place(const char* what, std::size_t offset,
                                         std::size_t bytes) const;

  std::size_t range_bytes_;
  std::size_t granularity_;
  std::map<std::size_t, std::size_t> mapped_;  // offset -> bytes
};

}  // namespace aqua::device
