// SPDX-License-Identifier: Apache-2.0
// AdmissionOrder is the order in which waiting and swapped sequences are let in: what fcfs and vtc
// differ in.
#pragma once

#include "systems/schedule/decide/sequence_table.hpp"

namespace aqua::schedule {

class AdmissionOrder {
 public:
  virtual ~AdmissionOrder() = default;
  // The next sequence to be let in, or no_slot. Answers the same until pass().
  [[nodiscard]] virtual Slot head() = 0;
  // Goes on to the next. `let_in` is false when the head was set aside.
  virtual void pass(bool let_in) = 0;
};

// Admits by arrival. While it is in use, only heads may leave the table's queue.
class ArrivalOrder final : public AdmissionOrder {
 public:
  explicit ArrivalOrder(const SequenceTable& table) : table_(table) {}
  [[nodiscard]] Slot head() override {
    const auto at = table_.outside().upper_bound({passed_, no_slot});
    if (at == table_.outside().end()) return no_slot;
    head_ = at->first;
    return at->second;
  }
  void pass(bool) override { passed_ = head_; }

 private:
  const SequenceTable& table_;
  std::uint64_t head_ = 0, passed_ = 0;
};

}  // namespace aqua::schedule
