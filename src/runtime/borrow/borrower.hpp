// SPDX-License-Identifier: Apache-2.0
// Borrower is the consumer's half of the runtime: it leases slabs ahead of need (LeaseIntake),
// empties and returns those that are wanted back (Evacuation), and moves tensors up again when
// there is room.
//
// Threads: on_*, settle() and step() on the control loop only; the three questions at the end from
// any.
#pragma once

#include "runtime/borrow/lease_intake.hpp"

namespace aqua::runtime {

class Borrower {
 public:
  using Parts = BorrowerParts;
  // All parts outlive the borrower.
  Borrower(Services& services, const Parts& parts, const BorrowerOptions& options);

  void on_connected();
  void on_snapshot(const wire::Snapshot& snapshot);
  // A snapshot that was asked for here: nothing but its leases is looked at.
  void settle(const wire::Snapshot& snapshot);
  void on_event(const ledger::Event& event);
  // Takes what steps it can, which may include waiting a millisecond for a copy; returns when it
  // wants to be called again at the latest.
  [[nodiscard]] Clock::time_point step(Clock::time_point now);
  // Gives back every slab that no tensor is in. After the loop and both queues have stopped.
  void close();

  [[nodiscard]] std::size_t leased_bytes() const noexcept { return slabs_.bytes(); }
  [[nodiscard]] tensor::MigratorStats migrated() const;
  // RuntimeStatus::not_borrowing.
  [[nodiscard]] std::string not_borrowing() const { return intake_.refusal(); }

 private:
  void poll_migrator(Clock::time_point now);
  void revoke(const lending::SlabKey& key, Clock::time_point deadline);
  void promote(Clock::time_point now);
  void probe_exporters(Clock::time_point now);
  [[nodiscard]] Clock::time_point next_time(Clock::time_point now) const;

  Services& services_;
  const Parts parts_;
  BorrowedSlabs slabs_;
  Evacuation evacuation_;
  LeaseIntake intake_;
  Clock::time_point next_promotion_{};
  Clock::time_point next_probe_{};
  bool probing_ = false;  // a probe is under way

  mutable Mutex mu_;
  tensor::MigratorStats migrated_ AQUA_GUARDED_BY(mu_);  // the migrator's own are the loop's
};

}  // namespace aqua::runtime
