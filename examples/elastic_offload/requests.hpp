// SPDX-License-Identifier: Apache-2.0
// Requests hands requests to the consumers, numbers them through a run, and counts what is done.
//
// Threads: one. The fleet outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet.hpp"
#include "workload.hpp"

namespace aqua::example {

class Requests {
 public:
  explicit Requests(Fleet& fleet) : fleet_(fleet) {}

  // In turn, one to each consumer. Arrival times count from here where `go` says so, else from the
  // last time it did. What cannot be sent is noticed as the death of its reader.
  void deal(std::vector<WorkItem> items, bool go);

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t done() const;

 private:
  Fleet& fleet_;
  std::uint64_t sent_ = 0;
};

}  // namespace aqua::example
