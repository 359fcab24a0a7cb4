// SPDX-License-Identifier: Apache-2.0
// Lender is the producer's half of the runtime: it puts slabs up (LentSlabs), keeps the
// coordinator's rows about them in step with what the exporter knows, and takes them back
// (Reclaims).
//
// Threads: on_connected(), on_snapshot(), on_event() and step() on the control loop only; the rest
//          from any thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/lend/reclaims.hpp"
#include "runtime/queues/gathered.hpp"

namespace aqua::runtime {

class Lender {
 public:
  explicit Lender(Services& services)
      : services_(services),
        lent_(services, [this](std::size_t bytes, auto at) { reclaims_.credit(bytes, at); }),
        reclaims_(services, lent_) {}
  // `exporter` outlives the lender's last use of `services`; once, before anything else.
  void attach(lending::Exporter& exporter) { lent_.attach(exporter); }

  // Puts slabs of this device up; each goes to `receiver` in the end.
  void lend(std::vector<std::unique_ptr<device::Slab>> slabs, SlabReceiver receiver);
  [[nodiscard]] std::shared_ptr<ReclaimState> reclaim(std::size_t bytes,
                                                      std::chrono::milliseconds deadline) {
    return reclaims_.start(bytes, deadline);
  }
  // From the exporter's thread: scrubbed, and free to be lent again.
  void on_freed(const lending::SlabStatus& slab);

  // On the client's own thread. To a coordinator that knows nothing everything is declared as
  // the exporter has it, under new generations: what another one granted is void.
  void declare(const southbound::Session& session);
  void on_connected(const southbound::Session& session);
  void on_snapshot(const wire::Snapshot& snapshot);
  void on_event(const ledger::Event& event);
  [[nodiscard]] Clock::time_point step(Clock::time_point now) { return reclaims_.step(now); }
  // Withdraws what nobody holds. After the loop and both queues have stopped.
  void close();

  [[nodiscard]] std::size_t lent_bytes() const noexcept { return lent_.bytes(); }

 private:
  void put_up(std::vector<std::unique_ptr<device::Slab>> slabs, const SlabReceiver& receiver);
  void report_freed(std::span<const wire::Scrub> freed);
  void offer_missing(const wire::Snapshot& snapshot, std::span<const lending::SlabStatus> ours);
  void forget_row(const ledger::Slab& row);
  // Offers these slabs as the exporter has them now, in the session that has been declared to:
  // an offer that overtook the declaration would be of a generation that it makes void.
  // unavailable without that session; the next one's declaration or snapshot brings them.
  [[nodiscard]] Result<void> offer(std::span<const std::uint32_t> indexes);
  void offer_or_look_again(std::span<const std::uint32_t> indexes);
  // The coordinator has not heard what it was told.
  void failed(const char* what, const Error& error);
  template <typename Wanted>
  [[nodiscard]] Result<void> offer_slabs(const Wanted& wanted) AQUA_REQUIRES(offering_);

  Services& services_;
  LentSlabs lent_;
  Reclaims reclaims_;
  Gathered<wire::Scrub> freed_;  // not yet told to the coordinator

  Mutex offering_;  // held during the call; before the exporter's
  std::uint64_t session_ AQUA_GUARDED_BY(offering_) = 0;  // the newest that is declared to
};

}  // namespace aqua::runtime
