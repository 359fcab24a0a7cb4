// SPDX-License-Identifier: Apache-2.0
// In which order those outside are let in: what fcfs and vtc differ in.
#pragma once

#include "systems/schedule/decide/sequence_table.hpp"

namespace aqua::policy {

class AdmissionOrder {
 public:
  virtual ~AdmissionOrder() = default;
  // The next to be let in, or no_slot. The same again until pass().
  [[nodiscard]] virtual Slot head() = 0;
  // The head was let in, or set aside and not.
  virtual void pass(bool let_in) = 0;
};

// By arrival. The table's queue may change behind it, by leaving of heads alone.
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

}  // namespace aqua::policy
