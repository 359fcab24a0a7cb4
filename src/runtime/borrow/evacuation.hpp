// SPDX-License-Identifier: Apache-2.0
// Evacuation takes tensors off the slabs that are wanted back, and gives each slab back once it is
// empty: unmapped, then reported to its exporter, then to the coordinator.
//
// Threads: the control loop's; report_returned() from any.
#pragma once

#include <memory>

#include "runtime/borrow/borrowed_slabs.hpp"
#include "runtime/queues/gathered.hpp"
#include "runtime/services.hpp"

namespace aqua::runtime {

class Evacuation {
 public:
  // All three outlive it.
  Evacuation(Services& services, const BorrowerParts& parts, BorrowedSlabs& slabs)
      : services_(services), parts_(parts), slabs_(slabs) {}

  // The slab is wanted back until `deadline`. Revoked again, only the deadline changes.
  void revoke(BorrowedSlab& slab, Clock::time_point deadline);
  void revoke_all_of(const ClientId& producer, Clock::time_point deadline);
  // Takes what steps it can. The migrator has been polled just before.
  void step(Clock::time_point now);
  // Whether writers may be made to wait: three quarters of a slab's time are gone.
  [[nodiscard]] bool pressing(Clock::time_point now) const;
  // Tells the coordinator that a lease has ended here, or was never taken up.
  void report_returned(const lending::SlabKey& key);

 private:
  void move_tensors_out();
  void move_tensors_out(const BorrowedSlab& slab);
  void return_empty_slabs();
  void return_slab(const lending::SlabKey& key);
  void tell_pin_owners(Clock::time_point now);
  void lose(const std::shared_ptr<TensorEntry>& tensor);

  Services& services_;
  const BorrowerParts parts_;
  BorrowedSlabs& slabs_;
  Gathered<wire::Return> returns_;  // not yet told to the coordinator
};

}  // namespace aqua::runtime
